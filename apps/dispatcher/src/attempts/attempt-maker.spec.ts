import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import {
  decodeFact,
  foldDelivery,
  replayAtMs,
  type Attempted,
  type AttemptError,
  type AttemptOutcome,
  type Destination,
  type DueAttempt,
  type Target,
} from '#libs/domain';
import type { DispatchLookupResult, EndpointDirectory } from '#libs/postgres';
import { topicNames } from '#libs/kafka-log';
import { createLogger } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { aDueAttempt, anEndpointId, attemptOf } from '../../../../test/support/due-attempts.js';
import { FakeAppender } from '../../../../test/support/fake-appender.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import { AttemptMaker, type AttemptMakerDependencies, type OrderedResult } from './attempt-maker.js';
import { DispatchLookup, type Found } from './dispatch-lookup.js';
import { Flight, Lane } from '../lanes/lane.js';
import { RecentAttempts } from './recent-attempts.js';

const NOW_MS = 1_750_000_000_999;
const TARGET: Target = { url: 'https://example.com/hook', secret: 'whsec_', previousSecret: null, activation: 3 };
const SCHEDULE = [10_000, 60_000];
const topics = topicNames('gapless', SCHEDULE);
const due = aDueAttempt();

let appender: FakeAppender;
let found: DispatchLookupResult;
let outcome: AttemptOutcome;
let posts: (readonly [DueAttempt, Target])[];
let ending: AbortController;
let metrics: Metrics;
let maker: AttemptMaker;

beforeEach(() => {
  appender = new FakeAppender();
  found = { kind: 'target', target: TARGET };
  outcome = answered(200);
  posts = [];
  ending = new AbortController();
  metrics = new Metrics();
  maker = aMaker((attempt, target) => {
    posts.push([attempt, target]);
    return Promise.resolve(outcome);
  });
});

function aMaker(
  attempt: Destination['attempt'],
  waitsFor?: AttemptMakerDependencies['waitsFor'],
  lookup = { look: () => Promise.resolve(found) } as unknown as DispatchLookup,
  recent = new RecentAttempts(15_000, () => NOW_MS),
  whenThere: NonNullable<Destination['whenThere']> = () => Promise.resolve(false),
): AttemptMaker {
  return new AttemptMaker({
    kit: aStageKit({ nowMs: NOW_MS, config: { retrySchedule: SCHEDULE }, topics, metrics }),
    lookup,
    destination: { attempt, whenThere, close: () => Promise.resolve() },
    appender: appender.asAppender,
    recent,
    ...(waitsFor === undefined ? {} : { waitsFor }),
    signal: ending.signal,
  });
}

function answered(code: number): AttemptOutcome {
  const error = code === 200 ? null : { kind: 'http_status' as const, detail: String(code) };
  return { startedAtMs: NOW_MS, durationMs: 42, response: { code, excerpt: 'thanks' }, error, attributes: {} };
}

function unanswered(kind: AttemptError, detail: string): AttemptOutcome {
  return { startedAtMs: NOW_MS, durationMs: 10, response: null, error: { kind, detail }, attributes: {} };
}

function make(attempt: DueAttempt = due): Promise<void> {
  return maker.make(attempt, new Flight(() => 0));
}

function facts() {
  return appender.records.filter(({ topic }) => topic === topics.deliveries).map(({ value }) => decodeFact(value));
}

function retries() {
  return appender.records.filter(({ topic }) => topic !== topics.deliveries);
}

describe('a target that was found with the endpoints of the event', () => {
  const known = { ...TARGET, url: 'https://example.com/known' };
  const pushed = () => posts.map(([, { url }]) => url);
  const askedAtMs = 5_000;
  const makeAt = async (nowMs: number) => {
    jest.spyOn(performance, 'now').mockReturnValue(nowMs);
    await maker.make(due, new Flight(() => 0), { found: { target: known, askedAtMs } });
  };

  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('saves the look-up', async () => {
    await makeAt(askedAtMs + 10);
    expect(pushed()).toEqual([known.url]);
  });

  it('is looked up again after 10 ms, so that changes of the endpoint take effect', async () => {
    await makeAt(askedAtMs + 11);
    expect(pushed()).toEqual([TARGET.url]);
  });
});

describe('an attempt that is due', () => {
  it('goes to the url of this moment, with the secret of this moment', async () => {
    await make();
    expect(posts).toEqual([[due, TARGET]]);
  });

  it('says whether its answer disables the endpoint', async () => {
    found = { kind: 'target', target: { ...TARGET, settings: { disableOnGone: true } } };
    outcome = answered(410);
    await make();
    expect(facts()).toMatchObject([{ next: 'exhausted', disables: true }]);
  });

  it('is not over while Kafka does not have that its endpoint is inactive', async () => {
    found = { kind: 'inactive' };
    appender.failures = 1;
    await make();
    expect(facts()).toHaveLength(1);
  });

  it('fails without a response', async () => {
    outcome = unanswered('timeout', 'in words');
    await make();
    expect(facts()).toMatchObject([
      { responseStatus: null, error: 'timeout: in words', responseExcerpt: null, next: 'retry' },
    ]);
  });

  it('records everything about itself in its fact', async () => {
    await make({ ...due, run: 2, attempt: 2 });
    expect(facts()).toEqual([
      {
        type: 'attempted',
        delivery: due.delivery,
        run: 2,
        attempt: 2,
        activation: 3,
        startedAtMs: NOW_MS,
        dueAtMs: due.dueAtMs,
        durationMs: 42,
        responseStatus: 200,
        error: null,
        responseExcerpt: 'thanks',
        next: 'delivered',
        nextAttemptAtMs: null,
      },
    ]);
  });
});

describe('an attempt that failed', () => {
  it('is followed by one in the tier of its number, due that tier’s delay after its end (contract 9)', async () => {
    outcome = answered(500);
    for (const [index, delayMs] of SCHEDULE.entries()) {
      appender.appends.length = 0;
      await make({ ...due, attempt: index + 1 });
      const dueAtMs = NOW_MS + 42 + delayMs;
      expect(facts()).toMatchObject([{ next: 'retry', nextAttemptAtMs: dueAtMs }]);
      const [retry] = retries();
      expect(retry).toMatchObject({ topic: topics.retry[index], key: due.delivery.endpointId, value: due.envelope });
      expect(attemptOf(retry!)).toEqual({ ...due, attempt: index + 2, dueAtMs });
    }
  });

  it('is the last one when its retries are used up', async () => {
    outcome = answered(500);
    await make({ ...due, attempt: SCHEDULE.length + 1 });
    expect(facts()).toMatchObject([{ next: 'exhausted', nextAttemptAtMs: null }]);
    expect(facts()[0]).not.toHaveProperty('disables');
    expect(retries()).toEqual([]);
  });

  it('goes to Kafka together with what follows from it', async () => {
    outcome = answered(500);
    await make();
    expect(appender.appends).toHaveLength(1);
    expect(appender.records).toHaveLength(2);
  });
});

/** What the clocks of everyone involved show, milliseconds apart from each other: hours, or the resolution of a clock. */
const skew = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -7_200_000, max: 7_200_000 }));

describe('the times that the log of a delivery shows', () => {
  it('follow each other, whatever the clocks of the broker, the api and each dispatcher show', async () => {
    const run = fc.record({
      apiSkew: skew,
      attempts: fc.array(fc.record({ skew, durationMs: fc.nat(10_000), lateMs: fc.nat(3_000) }), {
        minLength: 1,
        maxLength: SCHEDULE.length + 1,
      }),
    });
    let nth = 2;
    await fc.assert(
      fc.asyncProperty(skew, fc.array(run, { minLength: 1, maxLength: 3 }), async (brokerSkew, runs) => {
        appender.appends.length = 0;
        const createdAtMs = NOW_MS + brokerSkew;
        const delivery = { ...aDueAttempt(nth++).delivery, createdAtMs };
        let trueMs = NOW_MS;
        let state = foldDelivery(undefined, { type: 'scheduled', delivery });
        let shownMs = createdAtMs;
        for (const [index, { apiSkew, attempts }] of runs.entries()) {
          let next: DueAttempt = { ...due, delivery, dueAtMs: createdAtMs };
          if (index > 0) {
            const apiMs = trueMs + apiSkew;
            const atMs = replayAtMs(apiMs, createdAtMs, shownMs);
            next = { ...due, delivery, run: index, dueAtMs: apiMs, leadMs: atMs - apiMs };
            state = foldDelivery(state, { type: 'replayed', delivery, run: index, atMs });
          }
          for (const [last, attempt] of attempts.entries()) {
            trueMs += attempt.lateMs;
            // The forwarder holds a retry back until it is due by its own clock, which may be ahead of this dispatcher's.
            const startedAtMs = trueMs + attempt.skew;
            const status = last === attempts.length - 1 ? 200 : 500;
            const { durationMs } = attempt;
            outcome = { ...answered(status), startedAtMs, durationMs };
            await make(next);
            trueMs += durationMs;
            const fact = facts().at(-1) as Attempted;
            const endedAtMs = fact.startedAtMs + fact.durationMs;
            expect(fact.startedAtMs).toBeGreaterThanOrEqual(shownMs);
            expect(fact.startedAtMs).toBeGreaterThanOrEqual(state.nextAttemptAtMs!);
            expect(fact.dueAtMs).toBe(state.nextAttemptAtMs);
            expect(fact.startedAtMs - (fact.leadMs ?? 0)).toBe(startedAtMs);
            state = foldDelivery(state, fact);
            if (state.status === 'delivered') expect(state.deliveredAtMs).toBe(endedAtMs);
            else {
              expect(state.nextAttemptAtMs).toBe(endedAtMs + SCHEDULE[last]!);
              next = attemptOf(retries().at(-1)!)!;
              // The times shown delay nothing: the retry is due by the clock of the dispatcher.
              expect(next.dueAtMs).toBe(startedAtMs + durationMs + SCHEDULE[last]!);
              trueMs += SCHEDULE[last]!;
            }
            shownMs = endedAtMs;
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('an attempt whose partition is another member’s by now', () => {
  it('is not sent any more', async () => {
    const flight = new Flight(() => 0);
    const made = maker.make(due, flight);
    flight.withdraw();
    await made;
    expect(posts).toEqual([]);
    expect(appender.records).toEqual([]);
  });
});

describe('what is measured of an attempt', () => {
  it('is its outcome, the class of its error, how long the endpoint took and how old the event was', async () => {
    await make();
    outcome = answered(503);
    await make({ ...due, attempt: 2 });
    outcome = unanswered('timeout', '');
    await make({ ...due, attempt: 3 });
    const { text } = await metrics.scrape();
    expect(text).toContain('gapless_attempts_total{outcome="delivered",error="none"} 1\n');
    expect(text).toContain('gapless_attempts_total{outcome="retry",error="http_status"} 1\n');
    expect(text).toContain('gapless_attempts_total{outcome="exhausted",error="timeout"} 1\n');
    expect(text).toContain('gapless_push_duration_seconds_sum{result="succeeded"} 0.042\n');
    expect(text).toContain('gapless_push_duration_seconds_count{result="failed"} 2\n');
    // Of the first attempt alone.
    expect(text).toContain('gapless_first_push_delay_seconds_count 1\n');
  });
});

describe('an attempt that had to wait', () => {
  const moved = { ...TARGET, url: 'https://example.com/moved' };
  let meanwhile: () => void;
  const attempt: Destination['attempt'] = (made, target) => {
    posts.push([made, target]);
    if (posts.length > 1) return Promise.resolve(outcome);
    meanwhile();
    return Promise.resolve(null);
  };

  beforeEach(() => {
    maker = aMaker(attempt);
  });

  it('goes to the url of the moment after it', async () => {
    meanwhile = () => {
      found = { kind: 'target', target: moved };
    };
    await make();
    expect(posts.map(([, { url }]) => url)).toEqual([TARGET.url, moved.url]);
    expect(facts()).toHaveLength(1);
  });

  it('for a proxy that died during it does not take its endpoint for slow meanwhile', async () => {
    let isBack: (hasWaited: boolean) => void = () => undefined;
    const back = new Promise<boolean>((resolve) => (isBack = resolve));
    let asked = 0;
    const whenThere = () => (++asked === 2 ? back : Promise.resolve(false));
    meanwhile = () => undefined;
    maker = aMaker(attempt, undefined, undefined, undefined, whenThere);
    let nowMs = 0;
    const flight = new Flight(() => nowMs);
    const made = maker.make(due, flight);
    await setImmediate();
    nowMs = 5_000;
    expect(flight.waitingMs).toBe(0);
    expect(posts).toHaveLength(1);
    found = { kind: 'target', target: moved };
    isBack(true);
    await made;
    expect(posts.map(([, { url }]) => url)).toEqual([TARGET.url, moved.url]);
    expect(flight.answeredAfterMs).toBe(0);
  });

  it('ends its delivery when the endpoint became inactive meanwhile', async () => {
    meanwhile = () => {
      found = { kind: 'inactive' };
    };
    await make();
    expect(posts).toHaveLength(1);
    expect(facts()).toMatchObject([{ type: 'ended', reason: 'endpoint_disabled' }]);
  });

  it('is left to the owner that its partition has by then, and can be made here later', async () => {
    const flight = new Flight(() => 0);
    meanwhile = () => {
      flight.withdraw();
    };
    await maker.make(due, flight);
    expect([posts.length, appender.records]).toEqual([1, []]);
    await make();
    expect(posts).toHaveLength(2);
  });

  it('is made with what its lane has by then if it is ordered', async () => {
    const settings = { ordering: { by: 'endpoint', batch: 1 } } as const;
    const ordered = { kind: 'target', target: { ...TARGET, settings } } as const;
    meanwhile = () => {
      found = { kind: 'target', target: { ...moved, settings } };
    };
    const results: OrderedResult[] = [];
    await maker.makeInOrder(
      due,
      ordered,
      new Flight(() => 0),
      () => undefined,
      (result) => results.push(result),
    );
    expect(posts.map(([, { url }]) => url)).toEqual([TARGET.url, moved.url]);
    expect(results).toEqual([{ kind: 'done', deliveries: 1 }]);
  });
});

describe('an attempt that is not made', () => {
  it.each(['gone', 'superseded'] as const)('leaves nothing behind when it is %s', async (kind) => {
    found = { kind };
    await make();
    expect(posts).toEqual([]);
    expect(appender.records).toEqual([]);
  });

  it('ends its delivery when the endpoint is inactive (contract 4.2)', async () => {
    found = { kind: 'inactive' };
    await make({ ...due, run: 1 });
    expect(posts).toEqual([]);
    expect(facts()).toEqual([{ type: 'ended', delivery: due.delivery, run: 1, reason: 'endpoint_disabled' }]);
    expect(retries()).toEqual([]);
  });
});

describe('an attempt whose endpoint cannot be read', () => {
  const READABLE = anEndpointId(9);
  const directory: Pick<EndpointDirectory, 'lookUp'> = {
    lookUp: (attempts) =>
      Promise.resolve(
        attempts.map(({ delivery }) =>
          delivery.endpointId === READABLE ? found : { kind: 'unreadable', error: new Error('no key') },
        ),
      ),
  };

  const aMakerOfIt = (waitsFor?: AttemptMakerDependencies['waitsFor']) =>
    aMaker(
      (attempt, target) => {
        posts.push([attempt, target]);
        return Promise.resolve(outcome);
      },
      waitsFor,
      new DispatchLookup(directory as EndpointDirectory, createLogger('silent', 'test'), ending.signal),
    );

  beforeEach(() => {
    maker = aMakerOfIt();
  });

  it('keeps no place of the lane, so that others are pushed at once, and its delivery stays pending', async () => {
    const lane = new Lane(
      {
        held: 2_000,
        keptForModest: 200,
        inFlightPerEndpoint: 64,
        heldPerOrg: 1_024,
        heldPerEndpoint: 256,
        heldPerSluggishEndpoint: 4,
        urgentPerEndpoint: 16,
        urgentPerSluggishEndpoint: 1,
        urgentPerOrg: 64,
      },
      () => 0,
    );
    const orgs = [anOrgId(), anOrgId(), anOrgId()];
    const offerMany = (endpoint: number, count: number) =>
      oneTo(count).filter((nth) => {
        const attempt = aDueAttempt(nth, anEndpointId(endpoint));
        const delivery = { ...attempt.delivery, orgId: orgs[Math.floor((endpoint - 1) / 4)]! };
        const make = (flight: Flight) => maker.make({ ...attempt, delivery }, flight);
        return lane.offer({}, delivery, make, () => undefined) === 'taken';
      }).length;
    const taken = oneTo(8).reduce((sum, endpoint) => sum + offerMany(endpoint, 300), 0);
    expect(taken).toBe(1_800);
    await eventually(() => {
      expect(lane.held).toBe(0);
    });
    expect(facts()).toMatchObject(Array(taken).fill({ type: 'scheduled' }));
    expect(offerMany(9, 10)).toBe(10);
    await lane.idle();
    expect(posts).toHaveLength(10);
  });

  it('stays in the delivery log if it is paced, and is left at once', async () => {
    let left = 0;
    const onUnreadable = () => left++;
    await aMakerOfIt('pace').make(due, new Flight(() => 0), { onUnreadable });
    expect(left).toBe(1);
    expect(appender.records).toEqual([]);
    expect(posts).toEqual([]);
  });

  it('leaves nothing but its place if the delivery log has it already', async () => {
    await make({ ...due, attempt: 2 });
    await make({ ...due, run: 1 });
    expect(appender.records).toEqual([]);
    expect(posts).toEqual([]);
  });
});

describe('an attempt and the troubles around it', () => {
  it('is made once, and recorded as soon as Kafka is there', async () => {
    appender.failures = 2;
    outcome = answered(500);
    await make();
    expect(posts).toHaveLength(1);
    expect(appender.appends).toHaveLength(1);
  });

  it('is not made again when its record comes twice', async () => {
    await Promise.all([make(), make()]);
    await make();
    expect(posts).toHaveLength(1);
    expect(facts()).toHaveLength(1);
  });

  it('is left to be made again when the process ends before it is known what came of it', async () => {
    const reason = new Error('the process ends');
    const interrupted = aMaker(() => {
      ending.abort(reason);
      return Promise.resolve(unanswered('connect', 'the attempt was ended'));
    });
    await expect(interrupted.make(due, new Flight(() => 0))).rejects.toBe(reason);
    expect(appender.records).toEqual([]);
  });
});

describe('an attempt to a paced endpoint', () => {
  const paced: Target = { ...TARGET, settings: { maxPerSecond: 5 } };

  it('is left to the delivery log, in which its delivery then is', async () => {
    found = { kind: 'target', target: paced };
    await make({ ...due, run: 0, attempt: 1 });
    expect(posts).toEqual([]);
    expect(facts()).toEqual([{ type: 'scheduled', delivery: due.delivery }]);
    appender.appends.length = 0;
    await make({ ...due, run: 0, attempt: 2 });
    expect(appender.records).toEqual([]);
  });

  it('is made by the pump, which passes on those of endpoints that are not paced any more', async () => {
    const pump = aMaker((attempt, target) => {
      posts.push([attempt, target]);
      return Promise.resolve(outcome);
    }, 'pace');
    found = { kind: 'target', target: paced };
    await pump.make(due, new Flight(() => 0));
    expect(posts).toEqual([[due, paced]]);
    expect(facts()).toMatchObject([{ type: 'attempted', waitedFor: 'pace' }]);
    appender.appends.length = 0;
    found = { kind: 'target', target: TARGET };
    const other = { ...due, attempt: 2 };
    let left = 0;
    await pump.make(other, new Flight(() => 0), { onLeft: () => left++ });
    expect([posts.length, left]).toEqual([1, 1]);
    expect(appender.records.map(({ topic }) => topic)).toEqual([topics.attempts]);
    expect(attemptOf(appender.records[0]!)).toEqual(other);
  });
});

describe('an attempt that waits in a lane while its endpoint becomes paced', () => {
  it('is made once, by the pump, which waits for the lane', async () => {
    const recent = new RecentAttempts(15_000, () => NOW_MS);
    const lookup = { look: () => Promise.resolve(found) } as unknown as DispatchLookup;
    let proxyIsBack: () => void = () => undefined;
    const proxy = new Promise<null>((resolve) => {
      proxyIsBack = () => {
        resolve(null);
      };
    });
    const lane = aMaker(() => proxy, undefined, lookup, recent);
    const pushedByPump: Destination['attempt'] = (attempt, target) => {
      posts.push([attempt, target]);
      return Promise.resolve(outcome);
    };
    const pump = aMaker(pushedByPump, 'pace', lookup, recent);
    const inLane = lane.make(due, new Flight(() => 0));
    await setImmediate();
    const paced: Target = { ...TARGET, settings: { maxInFlight: 5 } };
    found = { kind: 'target', target: paced };
    const inPump = pump.make(due, new Flight(() => 0));
    await setImmediate();
    proxyIsBack();
    await Promise.all([inLane, inPump]);
    expect(posts).toEqual([[due, paced]]);
    expect(facts().filter((fact) => fact?.type === 'attempted')).toMatchObject([{ waitedFor: 'pace' }]);
  });
});

describe('an attempt of ordered deliveries', () => {
  const ordered: Target = { ...TARGET, settings: { ordering: { by: 'endpoint', batch: 3 } } };
  const followers = [2, 3, 4].map((nth) => ({ ...aDueAttempt(nth), attempt: nth === 3 ? 2 : 1 }));
  let results: OrderedResult[];

  beforeEach(() => {
    results = [];
  });

  const makeInOrder = (found: Found) =>
    maker.makeInOrder(
      { ...due, followers },
      found,
      new Flight(() => 0),
      () => undefined,
      (result) => results.push(result),
    );

  it('has a fact for each delivery that the answer accepts, and at most as many as a request may have', async () => {
    outcome = { ...answered(200), acknowledged: 3 };
    await makeInOrder({ kind: 'target', target: ordered });
    expect(posts[0]?.[0].followers).toHaveLength(2);
    expect(results).toEqual([{ kind: 'done', deliveries: 3 }]);
    expect(facts()).toMatchObject(
      [due, ...followers.slice(0, 2)].map(({ delivery, attempt }) => ({
        type: 'attempted',
        delivery,
        attempt,
        next: 'delivered',
        batch: [due.delivery.seq, followers[1]!.delivery.seq],
        waitedFor: 'order',
      })),
    );
  });

  it('has only deliveries that follow each other in the chain of the endpoint', async () => {
    const inChain = (previous: readonly number[]) =>
      [2, 3].map((nth, index) => {
        const { delivery, ...rest } = aDueAttempt(nth);
        return { ...rest, delivery: { ...delivery, previousSeq: previous[index]! } };
      });
    for (const previous of [
      [1, 2],
      [1, -1],
      [-1, 2],
      [0, 2],
    ]) {
      const all = { ...due, followers: inChain(previous) };
      await maker.makeInOrder(
        all,
        { kind: 'target', target: ordered },
        new Flight(() => 0),
        () => undefined,
        () => undefined,
      );
    }
    expect(posts.map(([{ followers: sent }]) => sent?.length)).toEqual([2, 1, 0, 0]);
  });

  it('ends before a delivery that is superseded, which its lane then has as its head', async () => {
    const endsBefore = followers[1]!.delivery.seq;
    await makeInOrder({ kind: 'target', target: ordered, endsBefore });
    expect(posts.map(([{ followers: sent }]) => sent)).toEqual([followers.slice(0, 1)]);
    expect(results).toEqual([{ kind: 'done', deliveries: 2 }]);
    expect(facts().map((fact) => (fact as Attempted).batch)).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it('that is accepted in part leaves the rest', async () => {
    outcome = { ...answered(200), acknowledged: 1 };
    await makeInOrder({ kind: 'target', target: ordered });
    expect(results).toEqual([{ kind: 'done', deliveries: 1 }]);
    expect(facts()).toHaveLength(1);
  });

  it('that fails is one of the first delivery alone, which its lane waits for', async () => {
    outcome = answered(500);
    await makeInOrder({ kind: 'target', target: ordered });
    expect(results).toEqual([{ kind: 'waits', untilMs: NOW_MS + 42 + SCHEDULE[0]! }]);
    expect(facts()).toMatchObject([{ delivery: due.delivery, next: 'retry', attempt: 1 }]);
    expect(retries()).toHaveLength(1);
  });

  it('is not made once the endpoint is not ordered, deleted or inactive', async () => {
    await makeInOrder({ kind: 'target', target: TARGET });
    await makeInOrder({ kind: 'gone' });
    await makeInOrder({ kind: 'inactive' });
    expect(posts).toEqual([]);
    expect(results).toEqual([{ kind: 'left' }, { kind: 'done', deliveries: 1 }, { kind: 'done', deliveries: 4 }]);
    expect(retries()).toMatchObject([{ topic: topics.attempts }]);
    expect(facts()).toMatchObject(Array(4).fill({ type: 'ended', reason: 'endpoint_disabled' }));
  });

  it('waits for 5 s if its endpoint cannot be read', async () => {
    await makeInOrder({ kind: 'unreadable', error: new Error('no key') });
    expect(posts).toEqual([]);
    expect(appender.records).toEqual([]);
    expect(results).toEqual([{ kind: 'unreadable', untilMs: NOW_MS + 5_000 }]);
  });

  it('is not made if it was made before, and its lane reads what is pending again', async () => {
    await makeInOrder({ kind: 'superseded' });
    expect(posts).toEqual([]);
    expect(appender.records).toEqual([]);
    expect(results).toEqual([{ kind: 'left' }]);
  });
});
