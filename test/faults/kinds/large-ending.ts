import { Histogram } from '../../bench/figures/histogram.js';
import { withStore } from '../../bench/system/bench-store.js';
import { ApiClient } from '../../support/api-client.js';
import { DeliveryLogDelays } from '../delivery-log-delays.js';
import type { Fault } from '../fault.js';
import type { World } from '../world.js';

/** `FAULT_BACKLOG=1500000` is as large as a backlog was seen. */
const BACKLOG = Number(process.env['FAULT_BACKLOG'] ?? 300_000);
const WATCHED_MS = 15_000;
const ENDED_WITHIN_MS = 60_000;
/** Of the others, from the push to the delivery log; on a busy machine, so many times what it is without the ending. */
const P99_LIMIT_MS = 1_000;
const TIMES_WITHOUT = 2;

/** Nobody else's deliveries may wait for the end of theirs. */
export const largeEnding: Fault = {
  name: 'large-ending',
  description: `an endpoint with ${BACKLOG} pending deliveries disabled while others are pushed to (FAULT_BACKLOG sets how many)`,
  limitMs: 400_000,
  plan: { quietOrgs: 1 },
  async strike(world) {
    const [org] = world.traffic.quietOrgs;
    if (org === undefined) throw new Error('there is no organization for the backlog');
    const client = () => new ApiClient(world.stages.of('api')[0]?.url ?? '', org.apiKey);
    const { id } = await client().createWebhook({ url: 'http://127.0.0.1:59999/', events: ['ticket.created'] });
    world.print(`making ${BACKLOG} pending deliveries`);
    await makeBacklog(world, org.orgId, id);
    const pending = async () => {
      const { text } = await client().request('GET', `/external/webhooks/${id}`);
      return (JSON.parse(text) as { data: { health: { pending: number } } }).data.health.pending;
    };
    if ((await pending()) !== BACKLOG) throw new Error('the backlog is not as large as it should be');
    const before = watch(world);
    await world.pause(WATCHED_MS);
    const p99Before = (await before()).quantile(0.99);
    world.print('the endpoint is disabled');
    const delays = watch(world);
    const { status } = await client().request('PATCH', `/external/webhooks/${id}`, '{"is_active":false}');
    if (status !== 200) throw new Error(`the endpoint cannot be disabled: ${status}`);
    await world.pause(WATCHED_MS);
    await world.until(async () => (await pending()) === 0, 'the end of the backlog', ENDED_WITHIN_MS);
    const p99 = (await delays()).quantile(0.99);
    world.print(
      `from the push to the delivery log, others: p99 ${Math.round(p99)} ms, before ${Math.round(p99Before)} ms`,
    );
    if (p99 > Math.max(P99_LIMIT_MS, TIMES_WITHOUT * p99Before))
      world.problems.push(`others waited ${Math.round(p99)} ms (p99) for the delivery log`);
  },
};

/** Measures the delays of every endpoint that takes everything, and does not wait for its turn. */
function watch(world: World): () => Promise<Histogram> {
  const url = () => world.stages.of('api')[0]?.url ?? '';
  const delays = new Histogram();
  const watches = world.traffic.busyOrgs.flatMap(({ apiKey, endpoints }) =>
    endpoints
      .filter(
        ({ customer: { subscription } }) => subscription.widgetIds === null && subscription.ordering === undefined,
      )
      .map((endpoint) => new DeliveryLogDelays(delays, () => new ApiClient(url(), apiKey), endpoint)),
  );
  for (const one of watches) one.start();
  return async () => {
    await Promise.all(watches.map((one) => one.finish()));
    return delays;
  };
}

/** Rows as the projector would have written them; each waits for a retry that is not due while the fault lasts. */
async function makeBacklog(world: World, orgId: string, endpointId: string): Promise<void> {
  await withStore(world.postgres.url, async (store) => {
    // The statement takes longer than a query of the service may.
    await store.query(
      `insert into deliveries (id, created_at, org_id, endpoint_id, event_id, event_type, seq, run, status, attempts, next_attempt_at)
       select 'dlv_' || lpad(n::text, 26, '0'), now() - n * interval '1 microsecond', $1, $2, 'evt_' || lpad(n::text, 26, '0'),
         'ticket.created', n, 1, 'pending', 1, now() + interval '6 hours'
       from generate_series(1, $3::int) as n`,
      [orgId, endpointId, BACKLOG],
    );
  });
}
