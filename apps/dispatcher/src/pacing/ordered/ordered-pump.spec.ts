import { beforeEach, describe, expect, it } from '@jest/globals';
import type { AttemptOutcome, DueAttempt, EndpointId, Target } from '#libs/domain';
import type { EndpointDirectory, OrderedDelivery, PacedEndpoint } from '#libs/postgres';
import { aDueAttempt, anEndpointId } from '../../../../../test/support/due-attempts.js';
import { FakeAppender } from '../../../../../test/support/fake-appender.js';
import { oneTo } from '../../../../../test/support/sequence.js';
import { aStageKit } from '../../../../../test/support/stage-kit.js';
import { AttemptMaker, type OrderedResult } from '../../attempts/attempt-maker.js';
import { DispatchLookup, type Found } from '../../attempts/dispatch-lookup.js';
import { RecentAttempts } from '../../attempts/recent-attempts.js';
import { Flight } from '../../lanes/lane.js';
import type { OrderStarts } from './order-start.js';
import { OrderedPump, type OrderedPumpDependencies } from './ordered-pump.js';

const endpointId = anEndpointId();
const endpoint: PacedEndpoint = {
  id: endpointId,
  orgId: aDueAttempt().delivery.orgId,
  maxPerSecond: null,
  maxInFlight: null,
  ordering: { by: 'endpoint', batch: 2 },
  orderedSinceMs: 1,
  isOrderBegun: true,
};

interface Made {
  readonly seqs: readonly number[];
  readonly answer: (result: OrderedResult) => void;
}

let nowMs: number;
let pending: OrderedDelivery[];
let made: Made[];
let prepared: (readonly number[])[];
let lookUps: number;
let found: Found;
/** What the attempts were made with. */
let founds: Found[];
/** How many attempts are over. */
let over: number;
let envelopeBytes: number;
/** The limits with which bytes were read. */
let readBytes: number[];
/** How many attempts may begin. Each answer makes room for one more. */
let places: number;
let use: OrderedPumpDependencies;
let pump: OrderedPump;

function seqsOf({ delivery, followers = [] }: DueAttempt): readonly number[] {
  return [delivery, ...followers.map((follower) => follower.delivery)].map(({ seq }) => seq);
}

let advance: () => Promise<void>;

beforeEach(() => {
  nowMs = 0;
  advance = () => Promise.resolve();
  pending = Array.from({ length: 5 }, (_, nth) => {
    const { delivery } = aDueAttempt(nth + 1, endpointId);
    return { delivery: { ...delivery, lane: 0 }, attempts: 0, dueAtMs: 0 };
  });
  [made, prepared, lookUps, envelopeBytes, readBytes] = [[], [], 0, 100, []];
  places = Infinity;
  [found, founds, over] = [{ kind: 'gone' }, [], 0];
  use = {
    deliveries: {
      first: (ranges) =>
        Promise.resolve(
          ranges.map(({ endpointId: id, lane, after, limit }) =>
            pending
              .filter(({ delivery }) => delivery.endpointId === id && delivery.seq > after)
              .filter(({ delivery }) => lane === null || delivery.lane === lane)
              .slice(0, limit),
          ),
        ),
      envelopes: (lists, maxBytes) => {
        readBytes.push(maxBytes);
        // Shared, so that the tests need not have them all.
        const bytes = Buffer.alloc(envelopeBytes);
        return Promise.resolve(lists.map((list) => list.map(() => bytes)));
      },
    },
    starts: {
      begin: ({ id }: PacedEndpoint) => ({ endpointId: id, isReady: true }),
      advance: () => advance(),
    } as unknown as OrderStarts,
    look: () => {
      lookUps++;
      return Promise.resolve(found);
    },
    prepare: (due) => {
      prepared.push(seqsOf(due));
    },
    make: (due, looked, _flight, _onSent, onResult) =>
      new Promise((resolve) => {
        founds.push(looked);
        const answer = (result: OrderedResult) => {
          places++;
          onResult(result);
          resolve();
        };
        made.push({ seqs: seqsOf(due), answer });
      }),
    start: () => {
      if (places <= 0) return undefined;
      places--;
      return { flight: new Flight(() => nowMs), onSent: () => undefined, onOver: () => over++ };
    },
    clockMs: () => nowMs,
    nowMs: () => nowMs,
    logger: aStageKit({ nowMs: 0 }).logger,
  };
  pump = new OrderedPump(use);
  pump.follow([endpoint]);
});

/** Lets what was begun go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

async function round(): Promise<void> {
  await pump.round(1, () => true);
  await settle();
}

const doneAll = { kind: 'done', deliveries: 2 } as const;

describe('an ordered endpoint', () => {
  it('gets the next request as soon as it answers, without a round, look-up or read in between', async () => {
    await round();
    expect(made.map(({ seqs }) => seqs)).toEqual([[1, 2]]);
    const before = lookUps;
    made[0]!.answer(doneAll);
    await Promise.resolve();
    expect(made.map(({ seqs }) => seqs)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    // The one after it is looked up.
    expect(lookUps).toBe(before + 1);
  });

  it('has its next request prepared while it works, unless more may be added to it', async () => {
    await round();
    expect(prepared).toEqual([[3, 4]]);
    made[0]!.answer(doneAll);
    await settle();
    expect(prepared).toEqual([[3, 4]]);
  });

  it('goes on while it cannot be found out whether the orders of others begin', async () => {
    let asked = 0;
    advance = () => {
      asked++;
      return Promise.reject(new Error('canceling statement due to statement timeout'));
    };
    await round();
    expect(made.map(({ seqs }) => seqs)).toEqual([[1, 2]]);
    await round();
    expect(asked).toBe(2);
  });

  it('does not wait until it is found out whether the orders of others begin, which is asked once at a time', async () => {
    let asked = 0;
    advance = () => {
      asked++;
      return new Promise(() => undefined);
    };
    await round();
    await round();
    expect(made.map(({ seqs }) => seqs)).toEqual([[1, 2]]);
    expect(asked).toBe(1);
  });

  it('is looked up again for its next request, so that a change takes effect', async () => {
    await round();
    const before = lookUps;
    pump.lookUp();
    expect(lookUps).toBe(before);
    nowMs = 80;
    pump.lookUp();
    expect(lookUps).toBe(before + 1);
  });

  it('is not looked up again and again while it takes long', async () => {
    await round();
    const before = lookUps;
    for (nowMs = 60; nowMs < 10_000; nowMs += 60) {
      pump.lookUp();
      await settle();
    }
    expect(lookUps - before).toBeLessThanOrEqual(20);
    made[0]!.answer(doneAll);
    await settle();
    // Looked up at the answer.
    expect(made).toHaveLength(2);
  });

  it('gets a delivery whose attempt was made before when it is due again, and nothing before that', async () => {
    await round();
    // The fact of an attempt of the first one was late, and it failed.
    pending = pending.map((one, nth) => (nth === 0 ? { ...one, attempts: 1, dueAtMs: 10_000 } : one));
    made[0]!.answer({ kind: 'left' });
    nowMs = 9_999;
    await round();
    expect(made).toHaveLength(1);
    nowMs = 10_500;
    await round();
    expect(made.map(({ seqs }) => seqs)).toEqual([[1, 2], [1]]);
  });

  it('that cannot be read holds no place, and is looked up again after a while', async () => {
    found = { kind: 'unreadable', error: new Error('no key') };
    await round();
    expect(founds).toEqual([found]);
    made[0]!.answer({ kind: 'unreadable', untilMs: 5_000 });
    await settle();
    expect(over).toBe(1);
    nowMs = 4_900;
    await round();
    expect(founds).toHaveLength(1);
    found = { kind: 'gone' };
    nowMs = 5_500;
    await round();
    expect(founds.at(-1)).toEqual(found);
    expect(made.at(-1)!.seqs).toEqual([1, 2]);
  });

  it('is read again in the next assignment', async () => {
    await round();
    pending = pending.slice(1);
    nowMs = 1_000;
    await pump.round(2, () => true);
    await settle();
    expect(made.map(({ seqs }) => seqs)).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });
});

describe('an ordered endpoint with a delivery that ended while the request before it was under way', () => {
  const target: Target = { url: '', secret: '', previousSecret: null, activation: 1 };
  let ended: ReadonlySet<number>;
  /** The deliveries of each query, by seq. */
  let asked: (readonly number[])[];
  let posts: { readonly seqs: readonly number[]; readonly accept: () => void }[];

  beforeEach(async () => {
    [ended, asked, posts] = [new Set(), [], []];
    const lookUp: EndpointDirectory['lookUp'] = (attempts) => {
      asked.push(attempts.flatMap(seqsOf));
      return Promise.resolve(
        attempts.map(({ delivery, followers = [] }): Found => {
          if (ended.has(delivery.seq)) return { kind: 'superseded' };
          const first = followers.find((follower) => ended.has(follower.delivery.seq));
          return {
            kind: 'target',
            target: { ...target, settings: { ordering: { by: 'endpoint', batch: 10 } } },
            ...(first === undefined ? {} : { endsBefore: first.delivery.seq }),
          };
        }),
      );
    };
    const outcome: AttemptOutcome = {
      startedAtMs: 0,
      durationMs: 1,
      response: { code: 200, excerpt: '' },
      error: null,
      attributes: {},
    };
    const attempt = (due: DueAttempt) =>
      new Promise<AttemptOutcome>((resolve) => {
        const accept = () => {
          resolve(outcome);
        };
        posts.push({ seqs: seqsOf(due), accept });
      });
    const { signal } = new AbortController();
    const maker = new AttemptMaker({
      kit: aStageKit({ nowMs: 0, config: { retrySchedule: [] } }),
      lookup: new DispatchLookup({ lookUp } as EndpointDirectory, use.logger, signal),
      destination: { attempt, close: () => Promise.resolve() },
      appender: new FakeAppender().asAppender,
      recent: new RecentAttempts(15_000, () => nowMs),
      signal,
    });
    pump = new OrderedPump({
      ...use,
      look: (due) => maker.look(due),
      make: (...attempted) => maker.makeInOrder(...attempted),
    });
    pending = oneTo(30).map((seq) => {
      const { delivery } = aDueAttempt(seq, endpointId);
      return { delivery: { ...delivery, lane: 0 }, attempts: 0, dueAtMs: 0 };
    });
    pump.follow([{ ...endpoint, ordering: { by: 'endpoint', batch: 10 } }]);
    await round();
    await settle();
    expect(posts.map(({ seqs }) => seqs)).toEqual([oneTo(10)]);
    ended = new Set([15]);
    pending = pending.filter(({ delivery }) => delivery.seq !== 15);
  });

  const sent = () => posts.flatMap(({ seqs }) => seqs);

  async function acceptAll(): Promise<void> {
    for (let nth = 0; nth < 10; nth++) {
      posts.at(-1)!.accept();
      await settle();
      await settle();
      nowMs += 200;
      await round();
      await settle();
    }
  }

  it('does not get it, and all others once', async () => {
    nowMs = 80;
    pump.lookUp();
    await settle();
    const before = asked.length;
    posts[0]!.accept();
    await settle();
    await settle();
    // Nothing is looked up but the request after it.
    expect(asked.slice(before)).toEqual([oneTo(10).map((nth) => nth + 20)]);
    expect(posts.at(-1)!.seqs).toEqual([11, 12, 13, 14]);
    await acceptAll();
    expect(sent()).toEqual(oneTo(30).filter((seq) => seq !== 15));
  });

  it('does not get it if the request took so long that the next one is looked up at the answer', async () => {
    const before = asked.length;
    nowMs = 30_000;
    pump.lookUp();
    await settle();
    expect(asked.length).toBe(before);
    await acceptAll();
    expect(posts[1]!.seqs).toEqual([11, 12, 13, 14]);
    expect(sent()).toEqual(oneTo(30).filter((seq) => seq !== 15));
  });
});

describe('an endpoint that is ordered by subject, with requests that wait while it gets another order', () => {
  const bySubject: PacedEndpoint = { ...endpoint, ordering: { by: 'subject', batch: 1 } };
  const byEndpoint: PacedEndpoint = { ...endpoint, ordering: { by: 'endpoint', batch: 1 }, orderedSinceMs: 2 };
  let posts: number[];
  /** Those of the old order wait for the proxy. */
  let proxyIsAway: boolean;
  let proxyIsBack: () => void;
  /** Those of the old order wait for Postgres. */
  let lookUpEnds: (() => void)[];

  function begin(mayLookUp: () => Promise<void>): void {
    const proxy = new Promise<null>((resolve) => {
      proxyIsBack = () => {
        resolve(null);
      };
    });
    const settings = { ordering: byEndpoint.ordering };
    const target: Target = { url: '', secret: '', previousSecret: null, activation: 1, settings };
    const attempt = (due: DueAttempt): Promise<AttemptOutcome | null> => {
      if (proxyIsAway) return proxy;
      posts.push(due.delivery.seq);
      return Promise.resolve({
        startedAtMs: 0,
        durationMs: 1,
        response: { code: 200, excerpt: '' },
        error: null,
        attributes: {},
      });
    };
    const look = async (): Promise<Found> => {
      await mayLookUp();
      return { kind: 'target', target };
    };
    const maker = new AttemptMaker({
      kit: aStageKit({ nowMs: 0, config: { retrySchedule: [] } }),
      lookup: { look } as unknown as DispatchLookup,
      destination: { attempt, close: () => Promise.resolve() },
      appender: new FakeAppender().asAppender,
      recent: new RecentAttempts(15_000, () => nowMs),
      signal: new AbortController().signal,
    });
    pump = new OrderedPump({
      ...use,
      look: (due) => maker.look(due),
      make: (...attempted) => maker.makeInOrder(...attempted),
    });
    pump.follow([bySubject]);
  }

  beforeEach(() => {
    [posts, lookUpEnds, proxyIsAway] = [[], [], true];
    pending = [1, 2, 3].map((seq) => {
      const { delivery } = aDueAttempt(seq, endpointId);
      return { delivery: { ...delivery, lane: seq === 3 ? 1 : 0 }, attempts: 0, dueAtMs: 0 };
    });
  });

  async function goOn(): Promise<void> {
    for (let nth = 0; nth < 5; nth++) {
      nowMs += 300;
      await round();
    }
  }

  it.each<[string, PacedEndpoint[]]>([
    ['another one', [byEndpoint]],
    ['none', []],
  ])('has none of them sent after the proxy is back if it gets %s', async (_what, listed) => {
    begin(() => Promise.resolve());
    await round();
    pump.follow(listed);
    proxyIsAway = false;
    proxyIsBack();
    await settle();
    expect(posts).toEqual([]);
    pump.follow([byEndpoint]);
    await goOn();
    expect(posts).toEqual([1, 2, 3]);
  });

  it('has none of them sent after Postgres is back', async () => {
    let isAway = true;
    begin(() => (isAway ? new Promise((resolve) => lookUpEnds.push(resolve)) : Promise.resolve()));
    await round();
    pump.follow([byEndpoint]);
    [proxyIsAway, isAway] = [false, false];
    for (const end of lookUpEnds) end();
    await settle();
    expect(posts).toEqual([]);
    await goOn();
    expect(posts).toEqual([1, 2, 3]);
  });
});

describe('an endpoint that is ordered by subject and has fewer places than lanes', () => {
  const seqs = () => made.flatMap((one) => one.seqs);

  beforeEach(() => {
    pending = Array.from({ length: 100 }, (_, nth) => {
      const { delivery } = aDueAttempt(nth + 1, endpointId);
      return { delivery: { ...delivery, lane: nth < 50 ? 0 : 1 }, attempts: 0, dueAtMs: 0 };
    });
    pump.follow([{ ...endpoint, ordering: { by: 'subject', batch: 1 } }]);
    places = 1;
  });

  it('gets those of each lane in turn, at the answers', async () => {
    await round();
    for (let nth = 0; nth < 5; nth++) {
      made.at(-1)!.answer({ kind: 'done', deliveries: 1 });
      await settle();
    }
    expect(seqs()).toEqual([1, 51, 2, 52, 3, 53]);
  });

  it('gets those of each lane in turn, also if places come later', async () => {
    await round();
    for (let nth = 0; nth < 5; nth++) {
      places = -1;
      made.at(-1)!.answer({ kind: 'done', deliveries: 1 });
      await settle();
      places = 1;
      await round();
    }
    expect(seqs()).toEqual([1, 51, 2, 52, 3, 53]);
  });
});

describe('ordered endpoints with more bytes than lanes share', () => {
  const aPending = (id: EndpointId, count: number): OrderedDelivery[] =>
    Array.from({ length: count }, (_, nth) => {
      const { delivery } = aDueAttempt(nth + 1, id);
      return { delivery: { ...delivery, lane: 0 }, attempts: 0, dueAtMs: 0 };
    });

  it('do not keep those waiting that hold nothing', async () => {
    const other = anEndpointId(2);
    envelopeBytes = 8 * 1024 * 1024;
    pending = aPending(endpointId, 20);
    pump.follow([endpoint, { ...endpoint, id: other }]);
    await round();
    expect(made).toHaveLength(1);
    pending.push(...aPending(other, 2));
    nowMs = 1_000;
    await round();
    expect(made).toHaveLength(2);
  });

  it('go on once the projection has caught up', async () => {
    envelopeBytes = 64 * 1024;
    pending = aPending(endpointId, 10_000);
    pump.follow([{ ...endpoint, ordering: { by: 'endpoint', batch: 500 } }]);
    const answerAll = async () => {
      for (let from = -1; from !== made.length; await settle()) {
        from = made.length;
        const { seqs, answer } = made.at(-1)!;
        answer({ kind: 'done', deliveries: seqs.length });
        await settle();
      }
    };
    // Until it waits for the projection.
    for (let rounds = 0; rounds < 1_000 && (nowMs === 0 || made.at(-1)!.seqs.at(-1)! < 4_000); rounds++) {
      nowMs += 100;
      await round();
      await answerAll();
    }
    for (let rounds = 0; rounds < 100; rounds++) {
      nowMs += 100;
      await round();
    }
    const before = made.length;
    pending = pending.slice(made.at(-1)!.seqs.at(-1));
    nowMs += 1_000;
    await round();
    expect(made.length).toBeGreaterThan(before);
  });

  it('read less of each if many ask at once', async () => {
    const others = Array.from({ length: 99 }, (_, nth) => anEndpointId(nth + 100));
    pending = [endpointId, ...others].flatMap((id) => aPending(id, 2));
    pump.follow([endpoint, ...others.map((id) => ({ ...endpoint, id }))]);
    await round();
    expect(made).toHaveLength(100);
    expect(Math.max(...readBytes) * 100).toBeLessThanOrEqual(64 * 1024 * 1024);
  });
});
