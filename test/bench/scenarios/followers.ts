import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Bench } from '../bench.js';
import { figure, latencyFigures } from '../figures/figure.js';
import { Histogram } from '../figures/histogram.js';
import type { Scenario } from '../scenario.js';
import type { GaplessProcess } from '../system/gapless-process.js';
import { createOrgs, type OrgKey } from '../system/org-keys.js';
import { followByLongPoll, followByStream, Sightings, type Follow } from '../traffic/feed-followers.js';

const ORGS = 20;
const LONG_POLL_READERS = 500;
const STREAM_READERS = 200;
const PER_SECOND = 100;
const SECONDS = 20;
const CONNECTIONS = 64;
/** In which all readers connect. */
const CONNECT_MS = 3_000;
const STALL_MS = 15_000;

/** The readers, spread over the orgs, and the first error of any of them. */
class Followers {
  readonly readers: Sightings[] = [];
  readonly #failed = new AbortController();

  constructor(
    private readonly bench: Bench,
    private readonly gapless: GaplessProcess,
    private readonly orgs: readonly OrgKey[],
  ) {}

  /** Spreads the readers over the orgs. */
  start(count: number, follow: Follow): readonly Sightings[] {
    const pool = new Pool(this.gapless.credentials.base_url, { connections: count, pipelining: 1 });
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.bench.signal]);
    setMaxListeners(0, signal);
    this.bench.onEnd(async () => {
      over.abort();
      await pool.destroy();
    });
    const started = Array.from({ length: count }, (_, index) => {
      const org = this.orgs[index % this.orgs.length];
      if (org === undefined) throw new Error('there are no orgs');
      const sightings = new Sightings();
      follow(pool, org.apiKey, sightings, signal).catch((error: unknown) => {
        if (!signal.aborted) this.#failed.abort(error);
      });
      return sightings;
    });
    this.readers.push(...started);
    return started;
  }

  throwIfFailed(): void {
    this.#failed.signal.throwIfAborted();
  }

  /** Waits until each has seen so many events. */
  async untilAllSeen(eventsEach: number): Promise<void> {
    const missing = () => this.readers.reduce((sum, { seenAt }) => sum + eventsEach - seenAt.size, 0);
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

function latenciesOf(readers: readonly Sightings[], sentAt: ReadonlyMap<string, number>): Histogram {
  const latencies = new Histogram();
  for (const { seenAt: seen } of readers) {
    for (const [id, seenAt] of seen) latencies.record(seenAt - (sentAt.get(id) ?? Number.NaN));
  }
  return latencies;
}

export const followers: Scenario = {
  name: 'followers',
  description:
    '500 long-poll and 200 streaming readers on 20 orgs, 100 events/s for 20 s; each sees all of its org in order',
  limitMs: 300_000,
  runsByDefault: 1,
  async run(bench) {
    const gapless = await bench.gapless();
    const { base_url: baseUrl, database_url: databaseUrl, service_key: serviceKey } = gapless.credentials;
    const orgs = await createOrgs(databaseUrl, ORGS);
    const group = new Followers(bench, gapless, orgs);
    bench.print(`${LONG_POLL_READERS} long-poll and ${STREAM_READERS} streaming readers connect`);
    const resources = bench.resources(gapless);
    const polling = group.start(LONG_POLL_READERS, followByLongPoll);
    const streaming = group.start(STREAM_READERS, followByStream);
    await delay(CONNECT_MS, undefined, { signal: bench.signal });
    group.throwIfFailed();

    bench.print(`${PER_SECOND} events/s for ${SECONDS} s`);
    const published = await bench.load.publish({
      baseUrl,
      apiKey: serviceKey,
      event: 'ticket.created',
      orgIds: orgs.map(({ orgId }) => orgId),
      eventsEachRequest: 1,
      connections: CONNECTIONS,
      pace: { kind: 'steady', perSecond: PER_SECOND, forMs: SECONDS * 1_000 },
    });
    // They come to the orgs in turn.
    await group.untilAllSeen(published.count / ORGS);
    const { sentAt } = published;
    const seen = group.readers.reduce((sum, { seenAt }) => sum + seenAt.size, 0);
    return [
      figure('events read, each by every reader of its org', seen, ''),
      ...latencyFigures('long poll: publish to reader', latenciesOf(polling, sentAt)),
      ...latencyFigures('stream: publish to reader', latenciesOf(streaming, sentAt)),
      ...resources.figures({ count: seen, of: 'events read' }),
    ];
  },
};
