import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { BENCH_EVENT, OTHER_EVENT } from '../deliveries.js';
import { figure, figuresOf, latencyFigures } from '../figures/figure.js';
import type { Scenario } from '../scenario.js';
import { registerInBulk } from '../system/bulk-registrations.js';
import { systemUsage } from '../system/process-usage.js';
import type { Pace } from '../traffic/publishing.js';

const SECONDS = 20;
const WARM_UP_SECONDS = 5;
const SETTLE_MS = 5_000;
const IDLE_MS = 10_000;
/** After the load, every org has had events. */
const REST_AGAIN_MS = 30_000;
const CONNECTIONS = 64;

interface Registered {
  readonly orgs: number;
  readonly endpointsEach: number;
  /** How many of the orgs have events. */
  readonly activeOrgs: number;
  readonly perSecond: number;
}

/** Registers endpoints, looks at Gapless at rest, and then sends events, each to one endpoint. */
function registered({ orgs, endpointsEach, activeOrgs, perSecond }: Registered): Scenario['run'] {
  return async (bench) => {
    const encryptionKeys = `bench:${randomBytes(32).toString('base64')}`;
    const gapless = await bench.ownGapless({ environment: { SECRET_ENCRYPTION_KEYS: encryptionKeys } });
    const { base_url: baseUrl, database_url: databaseUrl, service_key: apiKey } = gapless.credentials;
    bench.print(`registering ${(orgs * endpointsEach).toLocaleString('en-US')} endpoints`);
    const inboxes = await bench.receiver.open(orgs);
    bench.onEnd(() => inboxes.forget());
    const orgIds = inboxes.urls.map(() => randomUUID());
    const registrations = inboxes.urls.flatMap((url, org) =>
      Array.from({ length: endpointsEach }, (_, index) => ({
        orgId: orgIds[org] ?? '',
        url,
        event: index === 0 ? BENCH_EVENT : OTHER_EVENT,
      })),
    );
    await registerInBulk(databaseUrl, encryptionKeys, registrations);
    await delay(SETTLE_MS, undefined, { signal: bench.signal });

    bench.print('at rest');
    const resting = bench.resources(gapless);
    await delay(IDLE_MS, undefined, { signal: bench.signal });
    const atRest = [
      figure('memory, Node stages', systemUsage(gapless.pid)?.own.residentMB, 'MB'),
      figure('memory, Postgres, PSS', systemUsage(gapless.pid)?.postgres.proportionalMB, 'MB'),
      ...resting.cores(),
    ];

    let expected = 0;
    const publish = async (pace: Pace) => {
      const order = {
        baseUrl,
        apiKey,
        event: BENCH_EVENT,
        orgIds: orgIds.slice(0, activeOrgs),
        eventsEachRequest: 1,
        connections: CONNECTIONS,
        pace,
      };
      const published = await bench.load.publish(order);
      expected += published.count;
      await inboxes.untilReceived(expected, bench.signal);
      return published;
    };
    bench.print(`${perSecond} events/s for ${SECONDS} s`);
    await publish({ kind: 'steady', perSecond, forMs: WARM_UP_SECONDS * 1_000 });
    const resources = bench.resources(gapless);
    const { sentAt, acknowledgements } = await publish({
      kind: 'steady',
      perSecond,
      forMs: SECONDS * 1_000,
    });
    const cost = resources.figures({ count: sentAt.size, of: 'deliveries' });
    const { repeats } = await inboxes.progress();
    bench.print('at rest again');
    await delay(REST_AGAIN_MS, undefined, { signal: bench.signal });
    const restingAgain = [figure('memory, Node stages', systemUsage(gapless.pid)?.own.residentMB, 'MB')];
    return [
      ...figuresOf('at rest', atRest),
      ...latencyFigures('publish to receipt', (await inboxes.receipts()).latencies(sentAt)),
      ...latencyFigures('acknowledgement', acknowledgements),
      figure('repeated deliveries', repeats, ''),
      ...cost,
      ...figuresOf('at rest again', restingAgain),
    ];
  };
}

export const many: Scenario = {
  name: 'many',
  description:
    '10,000 orgs with 20 endpoints each: at rest for 10 s, then 500 events/s over the orgs for 20 s, each to one endpoint',
  limitMs: 300_000,
  runsByDefault: 1,
  run: registered({ orgs: 10_000, endpointsEach: 20, activeOrgs: 10_000, perSecond: 500 }),
};

export const ten: Scenario = {
  name: 'ten',
  description: '10 endpoints in one org: what `million` is compared with',
  limitMs: 300_000,
  run: registered({ orgs: 1, endpointsEach: 10, activeOrgs: 1, perSecond: 100 }),
};

export const million: Scenario = {
  name: 'million',
  description: '1,000,000 endpoints in 20,000 orgs: at rest for 10 s, then 100 events/s of one org for 20 s',
  limitMs: 600_000,
  run: registered({ orgs: 20_000, endpointsEach: 50, activeOrgs: 1, perSecond: 100 }),
};
