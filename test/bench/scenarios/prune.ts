import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { DayPartitions, Store } from '#libs/postgres';
import { createLogger } from '#libs/runtime';
import { figure, latencyFigures } from '../figures/figure.js';
import { Histogram } from '../figures/histogram.js';
import type { Scenario } from '../scenario.js';

const ROWS = 10_000_000;
const DAY_MS = 86_400_000;
const READ_EVERY_MS = 5;

export const prune: Scenario = {
  name: 'prune',
  description: 'a day of 10,000,000 events dropped while its org’s feed is read',
  limitMs: 1_800_000,
  async run(bench) {
    const { credentials } = await bench.ownGapless();
    const store = new Store({
      databaseUrl: credentials.database_url,
      applicationName: 'bench',
      logger: createLogger('silent', 'bench'),
      queryTimeoutMs: 1_500_000,
      migratesWhenOpened: false,
    });
    await store.open(() => undefined, bench.signal);
    bench.onEnd(() => store.close());
    const days = new DayPartitions(store);
    const todayMs = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    // Within the retention, so that the projector leaves it.
    const oldDayMs = todayMs - 10 * DAY_MS;
    const table = `events_${new Date(oldDayMs).toISOString().slice(0, 10).replaceAll('-', '')}`;
    await days.ensure([oldDayMs, todayMs]);
    bench.print(`making ${ROWS.toLocaleString('en-US')} rows`);
    await fill(store, credentials.org_id, oldDayMs, ROWS, 0);
    await fill(store, credentials.org_id, todayMs, 10_000, ROWS);

    bench.print('dropping them');
    const over = new AbortController();
    const readings = reading(credentials.database_url, credentials.org_id, new Date(todayMs), over.signal);
    await delay(1_000);
    const began = performance.now();
    const gone = untilGone(store, table).then(() => performance.now() - began);
    const dropped = await days.drop(oldDayMs + DAY_MS);
    const took = performance.now() - began;
    await delay(500);
    over.abort();
    const { latencies, slowestMs } = await readings;
    if (!dropped.includes(table)) throw new Error('the day was not dropped');
    return [
      figure('gone for all who read', await gone, 'ms'),
      // Postgres removes the files once it has let go of all locks.
      figure('gone from the disk', took, 'ms'),
      ...latencyFigures('a page of the feed meanwhile', latencies),
      figure('a page of the feed meanwhile, slowest', slowestMs, 'ms'),
    ];
  },
};

async function untilGone(store: Store, table: string): Promise<void> {
  for (;;) {
    const [row] = await store.query<{ found: string | null }>('select to_regclass($1)::text as found', [table]);
    if (row?.found === null) return;
    await delay(READ_EVERY_MS);
  }
}

async function fill(store: Store, orgId: string, dayMs: number, rows: number, behindSeq: number): Promise<void> {
  await store.query(
    `insert into events (org_id, seq, appended_at, event_id, event_type, envelope)
     select $1, $4::bigint + n, to_timestamp($2::bigint / 1000.0) + n * interval '8 ms', 'evt_' || md5(n::text),
       'ticket.created', convert_to('{"seq":' || n || ',"data":"' || repeat('x', 200) || '"}', 'UTF8')
     from generate_series(1, $3::int) as n`,
    [orgId, dayMs, rows, behindSeq],
  );
}

/** Reads the feed's newest page again and again, on a connection of its own. */
async function reading(databaseUrl: string, orgId: string, since: Date, signal: AbortSignal) {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const latencies = new Histogram();
  let slowestMs = 0;
  while (!signal.aborted) {
    const began = performance.now();
    await client.query(
      'select seq, envelope from events where org_id = $1 and appended_at >= $2 order by seq limit 100',
      [orgId, since],
    );
    const tookMs = performance.now() - began;
    latencies.record(tookMs);
    slowestMs = Math.max(slowestMs, tookMs);
    await delay(READ_EVERY_MS);
  }
  await client.end();
  return { latencies, slowestMs };
}
