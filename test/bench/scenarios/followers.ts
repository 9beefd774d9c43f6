import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Bench, Scenario } from '../bench.js';
import { ingestBody } from '../event-bodies.js';
import { followByLongPoll, followByStream, Sightings, type Follow } from '../feed-followers.js';
import type { GaplessProcess } from '../gapless-process.js';
import { Histogram } from '../histogram.js';
import { Load } from '../load.js';
import { createOrgs, type OrgKey } from '../org-keys.js';
import { figure, latencyFigures } from '../report.js';
import { Resources } from '../resources.js';

const ORGS = 20;
const LONG_POLL_READERS = 500;
const STREAM_READERS = 200;
const PER_SECOND = 100;
const SECONDS = 20;
/** In which all readers connect. */
const CONNECT_MS = 3_000;
const STALL_MS = 15_000;

interface Reader {
  readonly org: OrgKey;
  readonly sightings: Sightings;
}

/** Readers that were told what to follow, and what went wrong with the first of them. */
class Followers {
  readonly readers: Reader[] = [];
  readonly #failed = new AbortController();

  constructor(
    private readonly bench: Bench,
    private readonly gapless: GaplessProcess,
    private readonly orgs: readonly OrgKey[],
  ) {}

  /** Spreads the readers over the orgs. */
  start(count: number, follow: Follow): readonly Reader[] {
    const pool = new Pool(this.gapless.credentials.base_url, { connections: count, pipelining: 1 });
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.bench.signal]);
    setMaxListeners(0, signal);
    this.bench.onEnd(async () => {
      over.abort();
      await pool.destroy();
    });
    const started = Array.from({ length: count }, (_, index): Reader => {
      const org = this.orgs[index % this.orgs.length];
      if (org === undefined) throw new Error('there are no orgs');
      const sightings = new Sightings();
      follow(pool, org.apiKey, sightings, signal).catch((error: unknown) => {
        if (!signal.aborted) this.#failed.abort(error);
      });
      return { org, sightings };
    });
    this.readers.push(...started);
    return started;
  }

  throwIfFailed(): void {
    this.#failed.signal.throwIfAborted();
  }

  /** Waits until each has seen as many events as its org has. */
  async untilAllSeen(eventsOf: (org: OrgKey) => number): Promise<void> {
    const missing = () =>
      this.readers.reduce((sum, { org, sightings }) => sum + eventsOf(org) - sightings.seenAt.size, 0);
    let before = missing();
    let stalledSince = performance.now();
    for (let now = before; now > 0; now = missing()) {
      this.throwIfFailed();
      if (now !== before) stalledSince = performance.now();
      before = now;
      if (performance.now() - stalledSince > STALL_MS) throw new Error(`${now} events were not seen by all readers`);
      await delay(20, undefined, { signal: this.bench.signal });
    }
  }
}

function latenciesOf(readers: readonly Reader[], sentAt: ReadonlyMap<string, number>): Histogram {
  const latencies = new Histogram();
  for (const { sightings } of readers) {
    for (const [id, seenAt] of sightings.seenAt) latencies.record(seenAt - (sentAt.get(id) ?? Number.NaN));
  }
  return latencies;
}

export const followers: Scenario = {
  name: 'followers',
  description:
    '500 long-poll and 200 streaming readers on 20 orgs, 100 events/s for 20 s; each sees all of its org in order',
  limitMs: 300_000,
  async run(bench) {
    const gapless = await bench.gapless();
    const { base_url: baseUrl, database_url: databaseUrl } = gapless.credentials;
    const orgs = await createOrgs(databaseUrl, ORGS);
    const group = new Followers(bench, gapless, orgs);
    bench.tell(`${LONG_POLL_READERS} long-poll and ${STREAM_READERS} streaming readers connect`);
    const resources = new Resources(gapless.pid);
    const polling = group.start(LONG_POLL_READERS, followByLongPoll);
    const streaming = group.start(STREAM_READERS, followByStream);
    await delay(CONNECT_MS, undefined, { signal: bench.signal });
    group.throwIfFailed();

    bench.tell(`${PER_SECOND} events/s for ${SECONDS} s`);
    const loads = orgs.map(({ apiKey }) => {
      const load = new Load({ baseUrl, apiKey }, { connections: 4, signal: bench.signal });
      bench.onEnd(() => load.close());
      return load;
    });
    const publishing = loads.map(async (load, index) => {
      // Spread over the interval between two events of an org, as orgs do not act in step.
      await delay((index * 1_000) / PER_SECOND);
      await load.steadily({ perSecond: PER_SECOND / ORGS, forMs: SECONDS * 1_000 }, ingestBody('ticket.created'));
    });
    await Promise.all(publishing);
    const published = new Map(orgs.map((org, index) => [org, loads[index]?.sentAt.size ?? 0]));
    await group.untilAllSeen((org) => published.get(org) ?? 0);
    const sentAt = new Map(loads.flatMap((load) => [...load.sentAt]));
    const seen = group.readers.reduce((sum, { sightings }) => sum + sightings.seenAt.size, 0);
    return [
      figure('events read, each by every reader of its org', seen, ''),
      ...latencyFigures('long poll: publish to reader', latenciesOf(polling, sentAt)),
      ...latencyFigures('stream: publish to reader', latenciesOf(streaming, sentAt)),
      ...resources.figures({ count: seen, of: 'events read' }),
    ];
  },
};
