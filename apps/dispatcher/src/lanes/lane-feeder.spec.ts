import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DueAttempt } from '#libs/domain';
import { ConsumerSessions, topicNames, type BatchContext, type Handled, type StoredRecord } from '#libs/kafka-log';
import { createLogger } from '#libs/runtime';
import { aDueAttempt, anEndpointId, storedAttempt } from '../../../../test/support/due-attempts.js';
import { collectGarbage } from '../../../../test/support/collect-garbage.js';
import { FakeAppender } from '../../../../test/support/fake-appender.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { LaneFeeder, type LaneFeederOptions } from './lane-feeder.js';
import { Lane, type LaneLimits } from './lane.js';

const GROUP = 'dispatcher';
const TOPIC = 'attempts';
const LIMITS: LaneLimits = {
  held: 100,
  keptForModest: 0,
  inFlightPerEndpoint: 50,
  heldPerOrg: 100,
  heldPerEndpoint: 3,
  heldPerSluggishEndpoint: 1,
  urgentPerEndpoint: 2,
  urgentPerSluggishEndpoint: 1,
  urgentPerOrg: 3,
};
const topics = topicNames('gapless', [10_000]);

let appender: FakeAppender;
let sessions: ConsumerSessions;
let ending: AbortController;
let feeders: LaneFeeder[];
/** The attempts that are being made, by seq; each ends when the test ends it. */
let making: Map<number, { readonly end: () => void; readonly fail: (error: Error) => void }>;
let made: number[];
let commits: string[];
let resumed: string[];

beforeEach(() => {
  appender = new FakeAppender();
  sessions = new ConsumerSessions();
  ending = new AbortController();
  feeders = [];
  making = new Map();
  made = [];
  commits = [];
  resumed = [];
  assign(0, 1);
});

afterEach(async () => {
  ending.abort(new Error('the process ends'));
  for (const { fail } of making.values()) fail(new Error('the process ends'));
  await Promise.all(feeders.map((feeder) => feeder.drain(0)));
});

function assign(...partitions: readonly number[]): void {
  assignAs(1, ...partitions);
}

function assignAs(generation: number, ...partitions: readonly number[]): void {
  sessions.joined(GROUP, { generation, assigned: { [TOPIC]: partitions }, holdsLease: () => true });
}

function aFeeder(divert?: (due: DueAttempt) => Promise<void>): LaneFeeder {
  return aFeederIn(new Lane(LIMITS, () => performance.now()), divert);
}

function aFeederIn(lane: Lane, divert?: (due: DueAttempt) => Promise<void>): LaneFeeder {
  return aFeederOf({
    group: GROUP,
    lane,
    make: ({ delivery }: DueAttempt) => {
      made.push(delivery.seq);
      return new Promise<void>((resolve, reject) => {
        making.set(delivery.seq, { end: resolve, fail: reject });
      });
    },
    ...(divert === undefined ? {} : { divert }),
  });
}

function aFeederOf(options: LaneFeederOptions): LaneFeeder {
  const feeder = new LaneFeeder(options, {
    appender: appender.asAppender,
    sessions,
    topics,
    logger: createLogger('silent', 'test'),
    signal: ending.signal,
  });
  feeders.push(feeder);
  return feeder;
}

function aContext(generation = 1): BatchContext {
  return {
    generation,
    holdsLease: () => true,
    isStale: () => false,
    seek: () => undefined,
    doubt: () => undefined,
    resume: (topic, partition) => {
      resumed.push(`${topic}/${partition}`);
    },
    commit: (topic, partition, nextOffset) => {
      commits.push(`${topic}/${partition}/${nextOffset}`);
      return Promise.resolve();
    },
  };
}

/** The attempt of the event `seq`, at the offset of the same number; each to its own endpoint by default. */
function record(seq: number, endpoint = 1_000 + seq, partition = 0): StoredRecord {
  return storedAttempt(aDueAttempt(seq, anEndpointId(endpoint)), seq, TOPIC, partition);
}

function urgentRecord(seq: number, endpoint: number): StoredRecord {
  const due = aDueAttempt(seq, anEndpointId(endpoint));
  return storedAttempt({ ...due, delivery: { ...due.delivery, isUrgent: true } }, seq, TOPIC, 0);
}

function feed(feeder: LaneFeeder, records: readonly StoredRecord[], generation = 1): Promise<Handled> {
  return feeder.feed({ topic: TOPIC, partition: records[0]!.partition, records }, aContext(generation));
}

function end(...seqs: readonly number[]): void {
  for (const seq of seqs) making.get(seq)!.end();
}

async function expectCommits(...expected: readonly string[]): Promise<void> {
  await eventually(() => {
    expect(commits).toEqual(expected);
  });
}

describe('the offset of a partition', () => {
  it('moves past attempts that have ended, up to the first that has not', async () => {
    const feeder = aFeeder();
    expect(await feed(feeder, [record(5), record(6), record(7), record(8)])).toBeUndefined();
    expect(made).toEqual([5, 6, 7, 8]);
    end(6, 8);
    end(5);
    await expectCommits(`${TOPIC}/0/7`);
    end(7);
    await expectCommits(`${TOPIC}/0/7`, `${TOPIC}/0/9`);
  });

  it('is each partition’s own', async () => {
    const feeder = aFeeder();
    await feed(feeder, [record(5), record(6)]);
    await feed(feeder, [record(50, 1, 1)]);
    end(50);
    await expectCommits(`${TOPIC}/1/51`);
  });

  it('is not moved once the partition is another member’s', async () => {
    const feeder = aFeeder();
    await feed(feeder, [record(5)]);
    await feed(feeder, [record(50, 1, 1)]);
    assign(1);
    end(5, 50);
    await expectCommits(`${TOPIC}/1/51`);
  });

  it('does not move past an attempt that the end of the process interrupts', async () => {
    const feeder = aFeeder();
    await feed(feeder, [record(5), record(6)]);
    end(6);
    ending.abort(new Error('the process ends'));
    making.get(5)!.fail(new Error('the process ends'));
    await feeder.drain(1_000);
    expect(commits).toEqual([]);
  });

  it('moves past a record that is not an attempt, which goes to the dead letters', async () => {
    const feeder = aFeeder();
    await feed(feeder, [{ ...record(5), headers: {} }, record(6)]);
    expect(appender.records).toMatchObject([
      { topic: topics.deadLetter, headers: { 'x-error-code': 'malformed_request', 'x-origin': `${TOPIC}/0/5` } },
    ]);
    await expectCommits(`${TOPIC}/0/6`);
    end(6);
    await expectCommits(`${TOPIC}/0/6`, `${TOPIC}/0/7`);
  });
});

describe('attempts that are handed over again after a rebalance', () => {
  it('are not made again by the process that is making them or has made them', async () => {
    const feeder = aFeeder();
    await feed(feeder, [record(5), record(6)]);
    end(5);
    await expectCommits(`${TOPIC}/0/6`);
    await feed(feeder, [record(5), record(6), record(7)]);
    expect(made).toEqual([5, 6, 7]);
    end(6, 7);
    await expectCommits(`${TOPIC}/0/6`, `${TOPIC}/0/8`);
  });

  it('are made when others have had the partition in between', async () => {
    const feeder = aFeeder();
    await feed(feeder, [record(5), record(6)]);
    assignAs(2, 0);
    await feed(feeder, [record(30), record(31)], 2);
    end(30, 31);
    await expectCommits(`${TOPIC}/0/32`);
  });
});

describe('a partition that a member keeps', () => {
  it('may lack offsets, which takes nothing from what waits', async () => {
    const feeder = aFeeder();
    await feed(feeder, [record(5)]);
    await feed(feeder, [record(30)]);
    end(30);
    end(5);
    await expectCommits(`${TOPIC}/0/31`);
  });

  it('begins again when its position is moved back', async () => {
    const feeder = aFeeder();
    await feed(feeder, [record(5), record(6)]);
    end(5, 6);
    await expectCommits(`${TOPIC}/0/7`);
    await feed(feeder, [record(2)]);
    end(2);
    await expectCommits(`${TOPIC}/0/7`, `${TOPIC}/0/3`);
  });
});

describe('attempts of a partition that was given to another member', () => {
  const ONE = 1;

  /** Three are in flight, two wait in the lane, and three for room in it. */
  async function aBusyFeeder(): Promise<{ readonly feeder: LaneFeeder; readonly lane: Lane }> {
    const lane = new Lane({ ...LIMITS, inFlightPerEndpoint: 3, heldPerEndpoint: 5 }, () => performance.now());
    const feeder = aFeederIn(lane);
    await feed(
      feeder,
      [1, 2, 3, 4, 5, 6, 7, 8].map((seq) => record(seq, ONE)),
    );
    expect(made).toEqual([1, 2, 3]);
    expect(lane.held).toBe(5);
    return { feeder, lane };
  }

  it('are dropped at once if they wait: at most what is in flight is made twice', async () => {
    const { lane } = await aBusyFeeder();
    assignAs(2, 1);
    await eventually(() => {
      expect(lane.held).toBe(3);
    });
    end(1, 2, 3);
    await eventually(() => {
      expect(lane.held).toBe(0);
    });
    expect(made).toEqual([1, 2, 3]);
    expect(commits).toEqual([]);
  });

  it('are not made if they are offered later, because their batch took long', async () => {
    const records = [record(1), record(2)];
    const intake = aFeeder().take({ topic: TOPIC, partition: 0, records }, aContext());
    const [first, second] = records.map((one) => intake.open(one));
    first!.offer(aDueAttempt(1));
    assignAs(2, 1);
    expect(second!.offer(aDueAttempt(2))).toBe('taken');
    end(1);
    for (const open of [first!, second!]) open.close();
    expect(made).toEqual([1]);
    await feeders[0]!.drain(1_000);
    expect(commits).toEqual([]);
  });

  it('are dropped as soon when this member is about to end', async () => {
    const { feeder, lane } = await aBusyFeeder();
    const drained = feeder.drain(60_000);
    assignAs(2, 1);
    await eventually(() => {
      expect(lane.held).toBe(3);
    });
    end(1, 2, 3);
    await drained;
    expect(made).toEqual([1, 2, 3]);
  });

  it('are not made again when it stays: neither what is in flight nor what waits', async () => {
    const { feeder } = await aBusyFeeder();
    end(1);
    await expectCommits(`${TOPIC}/0/2`);
    assignAs(2, 0);
    await feed(
      feeder,
      [2, 3, 4, 5, 6, 7, 8, 9].map((seq) => record(seq, ONE)),
      2,
    );
    for (let seq = 2; seq <= 9; seq++) {
      await eventually(() => {
        expect(making.has(seq)).toBe(true);
      });
      end(seq);
    }
    await eventually(() => {
      expect(commits.at(-1)).toBe(`${TOPIC}/0/10`);
    });
    expect(made).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('are the ones that it comes back with, not those from before', async () => {
    const { feeder } = await aBusyFeeder();
    assignAs(2, 1);
    assignAs(3, 0);
    // Others have made the first five, and committed that.
    await feed(feeder, [record(6, ONE), record(7, ONE), record(8, ONE)], 3);
    end(1, 2, 3);
    for (const seq of [6, 7, 8]) {
      await eventually(() => {
        expect(making.has(seq)).toBe(true);
      });
      end(seq);
    }
    await eventually(() => {
      expect(commits.at(-1)).toBe(`${TOPIC}/0/9`);
    });
    expect(made).toEqual([1, 2, 3, 6, 7, 8]);
  });

  it('are committed once more when what was committed has not got through', async () => {
    const feeder = aFeeder();
    await feed(feeder, [record(5), record(6)]);
    end(5, 6);
    await expectCommits(`${TOPIC}/0/7`);
    assignAs(2, 0);
    await feed(feeder, [record(5), record(6)], 2);
    await expectCommits(`${TOPIC}/0/7`, `${TOPIC}/0/7`);
    expect(made).toEqual([5, 6]);
  });

  it('do not begin while others are about to get it, and what ends soon is committed', async () => {
    const ends: (() => void)[] = [];
    const feeder: LaneFeeder = aFeederOf({
      group: GROUP,
      lane: new Lane(
        { ...LIMITS, inFlightPerEndpoint: 1 },
        () => performance.now(),
        () => feeder.mayBegin,
      ),
      make: ({ delivery }) => {
        made.push(delivery.seq);
        return new Promise((resolve) => ends.push(resolve));
      },
    });
    await feed(feeder, [record(1, ONE), record(2, ONE)]);
    const released = sessions.release(GROUP);
    ends[0]?.();
    await released;
    expect(commits).toEqual([`${TOPIC}/0/2`]);
    expect(made).toEqual([1]);
    assignAs(2, 0);
    await eventually(() => {
      expect(made).toEqual([1, 2]);
    });
  });

  it('do not begin without a lease', async () => {
    let holdsLease = false;
    sessions.joined(GROUP, { generation: 1, assigned: { [TOPIC]: [0] }, holdsLease: () => holdsLease });
    const feeder: LaneFeeder = aFeederIn(
      new Lane(
        LIMITS,
        () => performance.now(),
        () => feeder.mayBegin,
      ),
    );
    await feed(feeder, [record(1)]);
    expect(made).toEqual([]);
    holdsLease = true;
    await eventually(() => {
      expect(made).toEqual([1]);
    });
  });
});

describe('an endpoint without room', () => {
  const ONE = 1;

  /** The feeder of a lane with an endpoint that has just taken too long to answer. */
  async function aFeederWithSluggish(diverted: number[]): Promise<{ feeder: LaneFeeder; pass: (ms: number) => void }> {
    let nowMs = 0;
    const feeder = aFeederOf({
      group: GROUP,
      lane: new Lane(LIMITS, () => nowMs),
      make: async ({ delivery }, flight) => {
        made.push(delivery.seq);
        flight.posting();
        await new Promise<void>((resolve, reject) => making.set(delivery.seq, { end: resolve, fail: reject }));
        flight.answered();
      },
      divert: ({ delivery }) => {
        diverted.push(delivery.seq);
        return Promise.resolve();
      },
    });
    await feed(feeder, [record(1, ONE)]);
    return {
      feeder,
      pass: (ms) => {
        nowMs += ms;
      },
    };
  }

  it('diverts the attempts that are too many if it answers slowly, and the offset moves on', async () => {
    const diverted: number[] = [];
    const { feeder, pass } = await aFeederWithSluggish(diverted);
    pass(5_000);
    await feed(
      feeder,
      [2, 3, 4].map((seq) => record(seq, ONE)),
    );
    expect(made).toEqual([1]);
    expect(diverted).toEqual([2, 3, 4]);
    end(1);
    await expectCommits(`${TOPIC}/0/5`);
  });

  it('diverts what waits for its share once it answers slowly', async () => {
    const diverted: number[] = [];
    const { feeder, pass } = await aFeederWithSluggish(diverted);
    await feed(
      feeder,
      [2, 3, 4, 5].map((seq) => record(seq, ONE)),
    );
    expect([made, diverted]).toEqual([[1, 2, 3], []]);
    pass(5_000);
    await eventually(() => {
      expect(diverted).toEqual([4, 5]);
    });
  });

  it('diverts nothing while it answers quickly, unless too much waits for it', async () => {
    const diverted: number[] = [];
    const feeder = aFeeder(({ delivery }) => {
      diverted.push(delivery.seq);
      return Promise.resolve();
    });
    const large = (seq: number): StoredRecord => ({ ...record(seq, ONE), value: Buffer.alloc(1_500_000, ' ') });
    await feed(feeder, [1, 2, 3, 4, 5, 6, 7].map(large));
    expect([made, diverted]).toEqual([
      [1, 2, 3],
      [6, 7],
    ]);
    end(1, 2);
    await eventually(() => {
      expect(made).toEqual([1, 2, 3, 4, 5]);
    });
  });

  it('waits for itself if they cannot be diverted, and blocks no other endpoint of the partition', async () => {
    const feeder = aFeeder();
    await feed(feeder, [...[1, 2, 3, 4, 5].map((seq) => record(seq, ONE)), record(6, 2)]);
    expect(made).toEqual([1, 2, 3, 6]);
    end(2);
    await eventually(() => {
      expect(made).toEqual([1, 2, 3, 6, 4]);
    });
    end(1, 3);
    await eventually(() => {
      expect(made).toEqual([1, 2, 3, 6, 4, 5]);
    });
    end(4, 5, 6);
    await eventually(() => {
      expect(commits.at(-1)).toBe(`${TOPIC}/0/7`);
    });
  });

  it.each([
    ['too much waits for it', record],
    ['too much that is urgent waits for it', urgentRecord],
  ])('lets its partition rest when %s, and go on when there is less', async (_case, recordOf) => {
    const feeder = aFeeder();
    const large = (seq: number): StoredRecord => ({ ...recordOf(seq, ONE), value: Buffer.alloc(1_500_000, ' ') });
    const handled = await feed(feeder, [1, 2, 3, 4, 5, 6].map(large));
    expect(handled).toMatchObject({ kind: 'later', nextOffset: 7 });
    expect(resumed).toEqual([]);
    end(1, 2);
    await eventually(() => {
      expect(made).toHaveLength(5);
      expect(resumed).toEqual([`${TOPIC}/0`]);
    });
  });
});

it('takes no more of a partition while too much of it waits, however long that takes', async () => {
  const feeder = aFeeder();
  assign(0);
  const large = Buffer.alloc(1024 * 1024);
  const records = Array.from({ length: 20 }, (_, seq) =>
    storedAttempt({ ...aDueAttempt(seq, anEndpointId(1)), envelope: large }, seq, TOPIC, 0),
  );
  expect(await feed(feeder, records.slice(0, 12))).toEqual({ kind: 'later', nextOffset: 12, waitMs: 60_000 });
  const begun = made.length;
  expect(await feed(feeder, records.slice(12))).toEqual({ kind: 'later', nextOffset: 12, waitMs: 60_000 });
  for (let seq = 0; seq < 12; seq++) {
    await eventually(() => {
      expect(making.has(seq)).toBe(true);
    });
    end(seq);
  }
  await eventually(() => {
    expect(resumed).toEqual([`${TOPIC}/0`]);
  });
  expect(made.length).toBeGreaterThan(begun);
  await feed(feeder, records.slice(12));
  await eventually(() => {
    expect(made).toContain(12);
  });
});

it('lets a partition rest while too much of it is being diverted', async () => {
  const diverting: (() => void)[] = [];
  const feeder = aFeeder(() => new Promise((resolve) => diverting.push(resolve)));
  const large = (seq: number): StoredRecord => ({ ...record(seq, 7), value: Buffer.alloc(1_500_000, ' ') });
  expect(await feed(feeder, [1, 2, 3, 4, 5].map(large))).toBeUndefined();
  expect(await feed(feeder, [6, 7, 8].map(large))).toMatchObject({ kind: 'later', nextOffset: 9 });
  expect(diverting).toHaveLength(3);
  for (const end of diverting) end();
  await eventually(() => {
    expect(resumed).toEqual([`${TOPIC}/0`]);
  });
});

describe('a feeder that drains', () => {
  it('takes up no more, and ends as soon as what is in flight has ended', async () => {
    const feeder = aFeeder();
    await feed(feeder, [record(5)]);
    const drained = feeder.drain(60_000);
    expect(await feed(feeder, [record(6)])).toMatchObject({ kind: 'later', nextOffset: 6 });
    expect(made).toEqual([5]);
    end(5);
    await drained;
    expect(commits).toEqual([`${TOPIC}/0/6`]);
  });

  it('does not wait for ever', async () => {
    const feeder = aFeeder();
    await feed(feeder, [record(5)]);
    await feeder.drain(50);
    expect(commits).toEqual([]);
  });
});

describe('an attempt that the lane gives up for a sluggish endpoint', () => {
  it('waits again, and is made in the end, where nobody else takes it', async () => {
    let nowMs = 0;
    const answers: (() => void)[] = [];
    const lane = new Lane({ ...LIMITS, inFlightPerEndpoint: 1 }, () => nowMs);
    const feeder = aFeederOf({
      group: GROUP,
      lane,
      make: async ({ delivery }, flight) => {
        made.push(delivery.seq);
        flight.posting();
        await new Promise<void>((resolve) => answers.push(resolve));
        flight.answered();
      },
    });
    await feed(feeder, [record(1, 7), record(2, 7), record(3, 7)]);
    expect(lane.held).toBe(3);
    nowMs += 5_000;
    await eventually(() => {
      expect(lane.held).toBe(1);
    });
    for (const seqs of [[1], [1, 2], [1, 2, 3]]) {
      await eventually(() => {
        expect(made).toEqual(seqs);
      });
      answers.at(-1)?.();
    }
    await eventually(() => {
      expect(commits.at(-1)).toBe(`${TOPIC}/0/4`);
    });
  });
});

describe('an attempt', () => {
  it('keeps little of the response of Kafka that it came with, and shares it with others of its event', () => {
    const envelopes: Buffer[] = [];
    const feeder = aFeederOf({
      group: GROUP,
      lane: new Lane(LIMITS, () => performance.now()),
      make: ({ envelope }) => {
        envelopes.push(envelope);
        return new Promise(() => undefined);
      },
    });
    const response = Buffer.alloc(8 * 1024 * 1024, ' ');
    const due = aDueAttempt(1, anEndpointId(7), { envelope: response.subarray(0, 1_000) });
    const own = aDueAttempt(2, anEndpointId(7), { envelope: Buffer.alloc(100_000) });
    const stored = [storedAttempt(due, 1, TOPIC), storedAttempt(own, 2, TOPIC)];
    const intake = feeder.take({ topic: TOPIC, partition: 0, records: stored }, aContext());
    const [first, second] = stored.map((one) => intake.open(one));
    first!.offer(due);
    first!.offer({ ...due, delivery: { ...due.delivery, endpointId: anEndpointId(8) } });
    second!.offer(own);
    expect(envelopes).toEqual([due.envelope, due.envelope, own.envelope]);
    expect(envelopes[0]!.buffer.byteLength).toBeLessThan(65_536);
    expect(envelopes[1]).toBe(envelopes[0]);
    expect(envelopes[2]).toBe(own.envelope);
  });
});

describe('an attempt that waits', () => {
  /** Feeds four attempts of an endpoint. @returns the response of Kafka that the last one is a small part of */
  async function feedFour(feeder: LaneFeeder): Promise<WeakRef<ArrayBufferLike>> {
    const { buffer } = Buffer.alloc(1024 * 1024, ' ');
    const last = { ...record(4, 7), value: Buffer.from(buffer, 1_000, 100) };
    await feed(feeder, [record(1, 7), record(2, 7), record(3, 7), last]);
    return new WeakRef(buffer);
  }

  it('keeps only its own bytes of what came with it', async () => {
    const envelopes: Buffer[] = [];
    const feeder = aFeederOf({
      group: GROUP,
      lane: new Lane(LIMITS, () => performance.now()),
      make: ({ envelope }) => {
        envelopes.push(envelope);
        return new Promise((resolve, reject) => making.set(envelopes.length, { end: resolve, fail: reject }));
      },
    });
    const response = await feedFour(feeder);
    await collectGarbage();
    expect(response.deref()).toBeUndefined();
    end(1);
    await eventually(() => {
      expect(envelopes[3]).toEqual(Buffer.alloc(100, ' '));
    });
    expect(envelopes[3]!.buffer.byteLength).toBeLessThan(65_536);
  });

  it('keeps no more when the lane gives it up', async () => {
    let nowMs = 0;
    const lane = new Lane({ ...LIMITS, inFlightPerEndpoint: 1, heldPerEndpoint: 4 }, () => nowMs);
    const feeder = aFeederOf({
      group: GROUP,
      lane,
      make: (_due, flight) => {
        flight.posting();
        return new Promise((resolve, reject) => making.set(1, { end: resolve, fail: reject }));
      },
    });
    const response = await feedFour(feeder);
    nowMs += 5_000;
    await eventually(() => {
      expect(lane.held).toBe(1);
    });
    await collectGarbage();
    expect(response.deref()).toBeUndefined();
  });
});

describe('an urgent attempt', () => {
  it('passes others of its endpoint that wait for room', async () => {
    const feeder = aFeederIn(new Lane({ ...LIMITS, inFlightPerEndpoint: 1 }, () => performance.now()), divertInto([]));
    await feed(feeder, [...[1, 2, 3, 4, 5].map((seq) => record(seq, 7)), ...[6, 7].map((seq) => urgentRecord(seq, 7))]);
    for (const seq of [1, 6, 7, 2, 3, 4, 5]) {
      await eventually(() => {
        expect(made.at(-1)).toBe(seq);
      });
      end(seq);
    }
  });

  it('is not diverted because of others that are', async () => {
    const diverted: number[] = [];
    const large = Buffer.alloc(1024 * 1024);
    const feeder = aFeeder(divertInto(diverted));
    const others = Array.from({ length: 8 }, (_, index) => ({ ...record(index + 1, 7), value: large }));
    await feed(feeder, [...others, urgentRecord(9, 7), urgentRecord(10, 7), urgentRecord(11, 7)]);
    expect(diverted).toEqual([6, 7, 8]);
    expect(made).toEqual([1, 2, 3, 9, 10]);
    end(9);
    await eventually(() => {
      expect(made).toEqual([1, 2, 3, 9, 10, 11]);
    });
  });
});

function divertInto(diverted: number[]) {
  return ({ delivery }: DueAttempt) => {
    diverted.push(delivery.seq);
    return Promise.resolve();
  };
}

it('looks for room only while there are attempts', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const feeder = aFeeder();
  const atRest = timers();
  await feed(feeder, [record(5)]);
  expect(timers()).toBe(atRest + 1);
  end(5);
  await eventually(() => {
    expect(timers()).toBe(atRest);
  });
});

it('may begin attempts after a rebalance, also if it gets none', async () => {
  const feeder = aFeeder();
  await sessions.release(GROUP);
  expect(feeder.mayBegin).toBe(false);
  assignAs(2, 0);
  expect(feeder.mayBegin).toBe(true);
});
