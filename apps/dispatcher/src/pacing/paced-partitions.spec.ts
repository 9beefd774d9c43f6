import { beforeEach, describe, expect, it } from '@jest/globals';
import { knownValues } from '#libs/kafka-log';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import { PacedPartitions, type PacedSession } from './paced-partitions.js';

const ATTEMPT_MS = 10_000;
const WAIT_MS = ATTEMPT_MS + 1_250;
const NOT_BUSY = () => false;

/** The owners of partitions, as Postgres has them. */
const stored = new Map<number, { owner: string; hasLeft: boolean }>();
/** Called when a statement has run, before its answer comes. */
let onAnswer: () => void;
let ids = 0;

const owners = {
  take: (owner: string, _topic: string, partitions: readonly number[]) => {
    const taken = partitions.filter((partition) => {
      const row = stored.get(partition);
      return row !== undefined && (row.hasLeft || row.owner === owner);
    });
    for (const partition of taken) stored.set(partition, { owner, hasLeft: false });
    onAnswer();
    return Promise.resolve(taken);
  },
  seize: (owner: string, _topic: string, partitions: readonly number[]) => {
    const seized = partitions.filter((partition) => {
      const row = stored.get(partition);
      return row?.owner !== owner || row.hasLeft;
    });
    for (const partition of seized) stored.set(partition, { owner, hasLeft: false });
    onAnswer();
    return Promise.resolve(seized);
  },
  leave: (owner: string, _topic: string, partitions: readonly number[]) => {
    for (const partition of partitions) {
      if (stored.get(partition)?.owner === owner) stored.set(partition, { owner, hasLeft: true });
    }
    return Promise.resolve();
  },
};

let nowMs: number;
let ends: ReadonlyMap<number, number>;
/** How often the ends were asked for. */
let asked: number;
/** Whether Kafka refuses to answer. */
let isKafkaAway: boolean;
/** Its answer, if that is late. */
let hanging: Promise<ReadonlyMap<number, number>> | undefined;
let projected: ReadonlyMap<number, number>;

/** A process that may have an assignment. */
class Process {
  session: PacedSession | undefined;
  /** Whether it cannot know that its session is alive. */
  isCutOff = false;
  readonly partitions = new PacedPartitions({
    session: () => (this.isCutOff ? undefined : this.session),
    assignment: () => this.session?.generation,
    owners,
    topic: 'attempts',
    anId: () => `owner ${++ids}`,
    attemptMs: ATTEMPT_MS,
    factsEnd: () => {
      asked++;
      if (hanging !== undefined) return hanging;
      return isKafkaAway ? Promise.reject(new Error('away')) : Promise.resolve(ends);
    },
    projectedTo: () => Promise.resolve(projected),
    nowMs: () => nowMs,
    logger: aStageKit({ nowMs: 0 }).logger,
  });

  constructor(generation?: number, ...partitions: readonly number[]) {
    this.session = generation === undefined ? undefined : { generation, partitions };
  }

  async readyAt(atMs: number): Promise<readonly number[]> {
    nowMs = atMs;
    return [...(await this.partitions.ready()).keys()];
  }

  /** Has an assignment, and has waited for attempts of others. */
  static async thatOwns(generation: number, ...partitions: readonly number[]): Promise<Process> {
    const one = new Process(generation, ...partitions);
    await one.readyAt(0);
    expect(await one.readyAt(WAIT_MS)).toEqual(partitions);
    return one;
  }
}

beforeEach(() => {
  nowMs = 0;
  onAnswer = () => undefined;
  stored.clear();
  [ends, projected] = [new Map(), new Map()];
  [asked, isKafkaAway, hanging] = [0, false, undefined];
});

describe('the partitions of a process', () => {
  it('are paced once the attempts of their earlier owner are over', async () => {
    const one = new Process(1, 0, 2);
    expect(await one.readyAt(0)).toEqual([]);
    expect(await one.readyAt(WAIT_MS - 1)).toEqual([]);
    expect(await one.readyAt(WAIT_MS + 100)).toEqual([0, 2]);
  });

  it('wait again after each assignment in which the owner before has not left', async () => {
    const one = await Process.thatOwns(1, 0, 2);
    one.session = { generation: 2, partitions: [0] };
    expect(await one.readyAt(20_001)).toEqual([]);
    expect(await one.readyAt(20_002 + WAIT_MS)).toEqual([0]);
  });

  it('wait until the outcomes of the earlier owner are projected, each for its own', async () => {
    ends = new Map([
      [0, 7],
      [2, 9],
    ]);
    projected = new Map([
      [0, 7],
      [2, 8],
    ]);
    const one = new Process(1, 0, 2);
    await one.readyAt(0);
    expect(await one.readyAt(20_000)).toEqual([0]);
    // Later facts come from this process.
    ends = new Map([[2, 100]]);
    projected = new Map([
      [0, 7],
      [2, 9],
    ]);
    expect(await one.readyAt(20_100)).toEqual([0, 2]);
  });

  describe('while the outcomes of another one cannot be read, because its partition has no leader', () => {
    let one: Process;

    beforeEach(async () => {
      ends = knownValues('deliveries', [
        [0, 0],
        [1, undefined],
        [2, 0],
      ]);
      one = new Process(1, 0, 1, 2);
      await one.readyAt(0);
      expect(await one.readyAt(20_000)).toEqual([0, 2]);
    });

    it('are paced, and Kafka is asked again each second', async () => {
      asked = 0;
      for (let atMs = 20_100; atMs <= 21_900; atMs += 100) expect(await one.readyAt(atMs)).toEqual([0, 2]);
      expect(asked).toBe(1);
      ends = new Map([[1, 0]]);
      expect(await one.readyAt(22_000)).toEqual([0, 2, 1]);
    });

    it('are paced while Kafka hangs, and the others once it answers', async () => {
      let answer: (found: typeof ends) => void = () => undefined;
      asked = 0;
      hanging = new Promise((resolve) => (answer = resolve));
      for (const atMs of [21_000, 24_000]) expect(await one.readyAt(atMs)).toEqual([0, 2]);
      expect(asked).toBe(1);
      answer(new Map([[1, 0]]));
      await hanging;
      expect(await one.readyAt(24_100)).toEqual([0, 2, 1]);
    });

    it('are not those of an assignment that ended before Kafka answered', async () => {
      let answer: (found: typeof ends) => void = () => undefined;
      hanging = new Promise((resolve) => (answer = resolve));
      expect(await one.readyAt(21_000)).toEqual([0, 2]);
      one.session = { generation: 2, partitions: [2] };
      const late = hanging;
      [hanging, ends] = [undefined, new Map([[2, 0]])];
      await one.partitions.leave(NOT_BUSY);
      answer(new Map([[1, 0]]));
      await late;
      expect(await one.readyAt(21_100)).toEqual([2]);
      await one.partitions.leave(NOT_BUSY);
      const other = new Process(2, 1);
      ends = new Map([[1, 0]]);
      expect(await other.readyAt(21_200)).toEqual([1]);
    });

    it('are paced although Kafka does not answer, which is asked again each second', async () => {
      [asked, isKafkaAway] = [0, true];
      for (let atMs = 21_000; atMs <= 21_900; atMs += 100) expect(await one.readyAt(atMs)).toEqual([0, 2]);
      expect(asked).toBe(1);
      isKafkaAway = false;
      ends = new Map([[1, 0]]);
      expect(await one.readyAt(22_000)).toEqual([0, 2, 1]);
    });
  });

  it('are paced although Kafka never answers the first time that it is asked', async () => {
    const one = new Process(1, 0);
    await one.readyAt(0);
    [asked, hanging] = [0, new Promise(() => undefined)];
    expect(await one.readyAt(20_000)).toEqual([]);
    hanging = undefined;
    expect(await one.readyAt(29_999)).toEqual([]);
    expect(asked).toBe(1);
    expect(await one.readyAt(30_000)).toEqual([0]);
  });

  it('are none while they may belong to others', async () => {
    const one = await Process.thatOwns(1, 0);
    one.isCutOff = true;
    expect(await one.readyAt(20_000)).toEqual([]);
  });
});

describe('partitions that move', () => {
  it('are paced by the next owner as soon as the one before has left', async () => {
    const one = await Process.thatOwns(1, 0, 1);
    const other = new Process(1);
    // Both have a new assignment, and one attempt is still under way.
    one.session = { generation: 2, partitions: [0] };
    other.session = { generation: 2, partitions: [1] };
    await one.partitions.leave((partition) => partition === 1);
    expect(await one.readyAt(20_000)).toEqual([0]);
    expect(await other.readyAt(20_000)).toEqual([]);
    await one.partitions.leave(NOT_BUSY);
    expect(await other.readyAt(20_100)).toEqual([1]);
  });

  it('count for limits per second for a second longer', async () => {
    const one = await Process.thatOwns(1, 0);
    expect([...(await one.partitions.ready()).values()]).toEqual([WAIT_MS]);
    one.session = undefined;
    await one.partitions.leave(NOT_BUSY);
    const other = new Process(1, 0);
    nowMs = 20_000;
    expect([...(await other.partitions.ready()).values()]).toEqual([21_250]);
  });

  it('move on at once with several assignments in a row', async () => {
    const one = await Process.thatOwns(1, 0);
    one.session = undefined;
    await one.partitions.leave(NOT_BUSY);
    const other = new Process(1, 0);
    expect(await other.readyAt(20_000)).toEqual([0]);
    other.session = undefined;
    await other.partitions.leave(NOT_BUSY);
    expect(await new Process(1, 0).readyAt(20_001)).toEqual([0]);
  });

  it('are not left by an owner that waits itself: nobody knows of the one before it', async () => {
    await Process.thatOwns(1, 0);
    const waiting = new Process(1, 0);
    expect(await waiting.readyAt(20_000)).toEqual([]);
    waiting.session = undefined;
    await waiting.partitions.leave(NOT_BUSY);
    const last = new Process(1, 0);
    expect(await last.readyAt(20_100)).toEqual([]);
    expect(await last.readyAt(20_100 + WAIT_MS)).toEqual([0]);
  });

  it('are not left while the assignment may go on', async () => {
    const one = await Process.thatOwns(1, 0);
    one.isCutOff = true;
    await one.partitions.leave(NOT_BUSY);
    expect(await new Process(1, 0).readyAt(20_000)).toEqual([]);
    await one.partitions.leave(NOT_BUSY, true);
    expect(await new Process(1, 0).readyAt(20_100)).toEqual([0]);
  });

  it('cannot be left any more by an owner that stood still meanwhile', async () => {
    const frozen = await Process.thatOwns(1, 0);
    const other = new Process(1, 0);
    await other.readyAt(20_000);
    expect(await other.readyAt(20_000 + WAIT_MS)).toEqual([0]);
    frozen.session = undefined;
    await frozen.partitions.leave(NOT_BUSY);
    expect(await new Process(1, 0).readyAt(40_000)).toEqual([]);
  });

  it('are stored again when Postgres was put back', async () => {
    const one = await Process.thatOwns(1, 0);
    stored.set(0, { owner: 'an earlier one', hasLeft: true });
    await one.partitions.keep();
    expect(await new Process(1, 0).readyAt(20_000)).toEqual([]);
    one.session = undefined;
    await one.partitions.leave(NOT_BUSY);
    expect(await new Process(1, 0).readyAt(20_100)).toEqual([0]);
  });

  it('are left at the end of the process, even while they are stored again or taken', async () => {
    const one = await Process.thatOwns(1, 0);
    onAnswer = () => {
      one.isCutOff = true;
    };
    await Promise.all([one.partitions.keep(), one.partitions.leave(NOT_BUSY, true)]);
    const other = new Process(1, 0);
    nowMs = 20_000;
    await Promise.all([other.partitions.ready(), other.partitions.leave(NOT_BUSY, true)]);
    expect(await other.readyAt(20_100)).toEqual([]);
    expect(await new Process(1, 0).readyAt(20_100)).toEqual([0]);
  });

  it('are left by a process whose assignment ended while it took them, or made sure that it has them', async () => {
    const one = await Process.thatOwns(1, 0);
    onAnswer = () => {
      one.session = undefined;
    };
    await one.partitions.keep();
    await one.partitions.leave(NOT_BUSY);
    const other = new Process(1, 0);
    onAnswer = () => {
      other.session = undefined;
    };
    expect(await other.readyAt(20_000)).toEqual([]);
    expect(stored.get(0)?.hasLeft).toBe(false);
    await other.partitions.leave(NOT_BUSY);
    onAnswer = () => undefined;
    expect(await new Process(1, 0).readyAt(20_001)).toEqual([0]);
  });

  it('are not left by a process whose assignment ended while it stored them again', async () => {
    const one = await Process.thatOwns(1, 0);
    stored.set(0, { owner: 'the next one', hasLeft: false });
    onAnswer = () => {
      one.session = undefined;
    };
    await one.partitions.keep();
    onAnswer = () => undefined;
    await one.partitions.leave(NOT_BUSY);
    expect(await new Process(1, 0).readyAt(20_000)).toEqual([]);
  });

  it('cannot be left by a process that got them too late, while another one may be at work', async () => {
    const late = new Process(1, 0);
    await late.readyAt(0);
    onAnswer = () => {
      late.session = { generation: 2, partitions: [] };
    };
    expect(await late.readyAt(WAIT_MS)).toEqual([]);
    onAnswer = () => undefined;
    await late.partitions.leave(NOT_BUSY);
    expect(await new Process(1, 0).readyAt(20_000)).toEqual([]);
  });
});
