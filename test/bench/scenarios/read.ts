import { Pool } from 'undici';
import { figure } from '../figures/figure.js';
import type { Scenario } from '../scenario.js';
import { createOrgs } from '../system/org-keys.js';
import { systemUsage } from '../system/process-usage.js';
import { monotonicMs } from '../traffic/monotonic-clock.js';

const EVENTS = 100_000;
const REQUEST_EVENTS = 500;
/** Each holds half a megabyte on its way. */
const CONNECTIONS = 4;
const PAGE = 1_000;
/** The first passes are what the code is compiled in. */
const PASSES = 3;

interface PageJson {
  readonly data: readonly { readonly seq: number }[];
  readonly next_seq: number | null;
}

/** Reads the whole feed and parses it. @returns its bytes @throws when a seq is missing */
async function readAll(pool: Pool, apiKey: string, signal: AbortSignal): Promise<number> {
  let bytes = 0;
  let seen = 0;
  for (let since: number | null = 0; since !== null;) {
    const path = `/api/v1/external/events?limit=${PAGE}&since=${since}`;
    const answer = await pool.request({ path, method: 'GET', headers: { 'x-api-key': apiKey }, signal });
    const body = Buffer.from(await answer.body.arrayBuffer());
    if (answer.statusCode !== 200) throw new Error(`the feed was answered ${answer.statusCode}: ${body.toString()}`);
    const page = JSON.parse(body.toString()) as PageJson;
    for (const { seq } of page.data) if (seq !== ++seen) throw new Error(`seq ${seq} stands where ${seen} belongs`);
    bytes += body.length;
    since = page.next_seq;
  }
  if (seen !== EVENTS) throw new Error(`${seen} of ${EVENTS} events were read`);
  return bytes;
}

export const read: Scenario = {
  name: 'read',
  description: '100,000 events ingested 500 a request, then read from the feed 1,000 a page and parsed, 3 times',
  limitMs: 300_000,
  runsByDefault: 1,
  async run(bench) {
    const gapless = await bench.gapless();
    const { base_url: baseUrl, database_url: databaseUrl } = gapless.credentials;
    const [org] = await createOrgs(databaseUrl, 1);
    if (org === undefined) throw new Error('there is no org');
    bench.print(`ingesting ${EVENTS.toLocaleString('en-US')} events`);
    const published = await bench.load.publish({
      baseUrl,
      apiKey: org.apiKey,
      event: 'ticket.created',
      orgIds: [],
      eventsEachRequest: REQUEST_EVENTS,
      connections: CONNECTIONS,
      pace: { kind: 'burst', requests: EVENTS / REQUEST_EVENTS },
    });
    await bench.api(gapless, org.apiKey).untilHead(EVENTS);
    const storedAt = monotonicMs();

    bench.print('reading them');
    const pool = new Pool(baseUrl, { connections: 1, pipelining: 1 });
    bench.onEnd(() => pool.destroy());
    const reading = bench.resources(gapless);
    const began = performance.now();
    let bytes = 0;
    const memoryMB: (number | undefined)[] = [];
    for (let pass = 0; pass < PASSES; pass++) {
      bytes += await readAll(pool, org.apiKey, bench.signal);
      memoryMB.push(systemUsage(gapless.pid)?.own.residentMB);
    }
    const seconds = (performance.now() - began) / 1_000;
    const seen = EVENTS * PASSES;
    return [
      figure('read', seen / seconds, 'events/s'),
      figure('read', bytes / 1e6 / seconds, 'MB/s'),
      figure('ingested', (EVENTS * 1_000) / (published.lastAcknowledgedAt - published.firstSentAt), 'events/s'),
      figure('ingested, sequenced and in the feed', (EVENTS * 1_000) / (storedAt - published.firstSentAt), 'events/s'),
      // Of what it takes for the first pass, nothing is to be added by the others.
      figure('memory, Node stages: growth', (memoryMB.at(-1) ?? Number.NaN) - (memoryMB[0] ?? Number.NaN), 'MB'),
      ...reading.figures({ count: seen, of: 'events read' }),
    ];
  },
};
