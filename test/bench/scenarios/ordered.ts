import type { Bench } from '../bench.js';
import { BENCH_EVENT } from '../deliveries.js';
import { figure, figuresOf, latencyFigures, type Figure } from '../figures/figure.js';
import type { Scenario } from '../scenario.js';
import type { GaplessProcess } from '../system/gapless-process.js';
import { createOrgs } from '../system/org-keys.js';
import type { Published } from '../traffic/published.js';
import type { Pace } from '../traffic/publishing.js';
import type { InboxGroup } from '../traffic/receiver.js';

/** How long the endpoint takes to answer. With 250 events a request, it takes 1,029 a second at most. */
const ANSWERS_AFTER_MS = 243;
const BATCH = 250;
const WAITING = 20_000;
const WAITING_REQUEST_EVENTS = 500;
const COMING_PER_SECOND = 1_000;
const COMING_REQUEST_EVENTS = 10;
const COMING_MS = 20_000;
/** A new process is slower, and what comes first are small batches. */
const WARM_UP_MS = 3_000;
const MANY_TICKETS = 100;

interface Part {
  readonly by: 'endpoint' | 'subject';
  /** Subjects of the events. */
  readonly tickets: number;
  readonly eventsEachRequest: number;
  readonly pace: Pace;
}

const WAIT = {
  eventsEachRequest: WAITING_REQUEST_EVENTS,
  pace: { kind: 'burst', requests: WAITING / WAITING_REQUEST_EVENTS },
} as const;
const COME = {
  eventsEachRequest: COMING_REQUEST_EVENTS,
  pace: { kind: 'steady', perSecond: COMING_PER_SECOND / COMING_REQUEST_EVENTS, forMs: COMING_MS },
} as const;

const PARTS = new Map<string, Part>([
  ['by endpoint, waiting', { by: 'endpoint', tickets: 1, ...WAIT }],
  ['by endpoint, as they come', { by: 'endpoint', tickets: 1, ...COME }],
  ['by subject, one, waiting', { by: 'subject', tickets: 1, ...WAIT }],
  ['by subject, many, waiting', { by: 'subject', tickets: MANY_TICKETS, ...WAIT }],
]);

/** Delivers events to a new ordered endpoint. @throws Error if one comes after a later one */
async function deliver(bench: Bench, gapless: GaplessProcess, part: Part): Promise<readonly Figure[]> {
  const { database_url: databaseUrl, base_url: baseUrl } = gapless.credentials;
  const [org] = await createOrgs(databaseUrl, 1);
  if (org === undefined) throw new Error('there is no org');
  const { apiKey } = org;
  const inbox = await bench.receiver.open(1, { kind: 'after', ms: ANSWERS_AFTER_MS });
  bench.onEnd(() => inbox.forget());
  const endpoint = await bench.api(gapless, apiKey).createEndpoint(inbox.urls[0] ?? '', [BENCH_EVENT], {
    ordering: { by: part.by, batch: BATCH },
  });
  const resources = bench.resources(gapless);
  const published = await bench.load.publish({
    baseUrl,
    apiKey,
    event: BENCH_EVENT,
    orgIds: [],
    tickets: part.tickets,
    eventsEachRequest: part.eventsEachRequest,
    connections: 4,
    pace: part.pace,
  });
  await inbox.untilReceived(published.count, bench.signal);
  const cores = resources.cores();
  const figures = await whatCame(inbox, published, part);
  await bench.api(gapless, apiKey).untilDelivered([endpoint], published.count);
  return [...figures, ...resources.costs({ count: published.count, of: 'deliveries' }), ...cores];
}

async function whatCame(inbox: InboxGroup, published: Published, { by }: Part): Promise<readonly Figure[]> {
  const receipts = await inbox.receipts();
  const { inversions, repeats } = await inbox.progress();
  if (by === 'endpoint' && inversions > 0) throw new Error(`${inversions} events came after a later one`);
  return [
    figure('delivered', receipts.perSecond(WARM_UP_MS), 'events/s'),
    ...latencyFigures('from an answer to the next request', await inbox.idle()),
    ...latencyFigures('publish to receipt', receipts.latencies(published.sentAt)),
    figure('repeated deliveries', repeats, ''),
  ];
}

export const ordered: Scenario = {
  name: 'ordered',
  description: 'events to an ordered endpoint that answers after 243 ms, 250 a request: 20,000 that wait, then 1,000/s',
  limitMs: 600_000,
  async run(bench) {
    const gapless = await bench.gapless();
    const figures: Figure[] = [];
    for (const [name, part] of PARTS) {
      bench.print(name);
      figures.push(...figuresOf(name, await deliver(bench, gapless, part)));
    }
    return figures;
  },
};
