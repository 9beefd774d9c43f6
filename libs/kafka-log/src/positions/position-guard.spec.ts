import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Position } from '#libs/domain';
import { Metrics } from '#libs/telemetry';
import { createLogger, HealthBoard } from '#libs/runtime';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import type { StoredRecord } from '../records/record.js';
import { PositionGuard } from './position-guard.js';
import { StoppedPartitions } from './stopped-partitions.js';

const TOPIC = 'inbox';
const COMMITTED: Position = { next: 6, anchor: null };

let committed: Position | undefined;
/** The first offset of the partition, and the one after its last. */
let begin: number;
let end: number;
/** Whether partition 0 has a leader. */
let isLed: boolean;
/** How often the guard asked for the offsets. */
let looks: number;
/** How many connections to brokers broke. */
let interruptions: number;
let metrics: Metrics;
let movedTo: readonly number[];
let holds: boolean[];
let health: HealthBoard;

function aGuard(isAway = () => false, startsAtSource = false): PositionGuard {
  const moved: number[] = [];
  movedTo = moved;
  holds = [];
  [begin, interruptions, metrics] = [0, 0, new Metrics()];
  [isLed, looks] = [true, 0];
  const logger = createLogger('silent', 'test');
  health = new HealthBoard();
  const connection = {
    metrics,
    get interruptions() {
      return interruptions;
    },
    withAdmin: () => {
      looks++;
      if (isAway()) return Promise.reject(new Error('Kafka is away'));
      const offsets = { low: String(begin), high: String(end), offset: String(end) };
      return Promise.resolve([
        { partition: 0, ...(isLed ? offsets : {}) },
        { partition: 1, ...offsets },
      ]);
    },
  } as unknown as KafkaConnection;
  return new PositionGuard({
    connection,
    groupId: 'gapless-sequencer',
    group: 'sequencer',
    logger,
    health,
    stopped: new StoppedPartitions({ groupId: 'gapless-sequencer', group: 'sequencer' }, metrics, logger, health),
    source: (_topic, partitions) =>
      Promise.resolve(new Map(partitions.flatMap((of) => (committed === undefined ? [] : [[of, committed] as const])))),
    hold: (_topic, _partition, isHeld) => {
      holds.push(isHeld);
    },
    startsAtSource,
    moveTo: (_topic, _partition, offset) => {
      moved.push(offset);
    },
  });
}

/** Has a stopped partition looked at again. */
async function lookAgain(guard: PositionGuard): Promise<void> {
  await jest.advanceTimersByTimeAsync(6_000);
  guard.tick();
  await jest.advanceTimersByTimeAsync(1_000);
}

afterEach(() => {
  jest.useRealTimers();
});

describe('PositionGuard', () => {
  async function aStoppedPartition(): Promise<PositionGuard> {
    jest.useFakeTimers();
    [committed, end] = [COMMITTED, 3];
    const guard = aGuard();
    guard.assigned({ [TOPIC]: [0] });
    const admitted = guard.admits(TOPIC, 0);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await admitted).toBe('held');
    return guard;
  }

  it('admits nothing of a partition that ends before the position', async () => {
    const guard = await aStoppedPartition();
    expect(holds).toEqual([true]);
    expect(Object.keys(health.parts())).toHaveLength(1);
    await guard.stop();
    expect(health.parts()).toEqual({});
  });

  it('admits the records of a partition that a broker showed as too short for a moment alone', async () => {
    jest.useFakeTimers();
    [committed, end] = [COMMITTED, 3];
    const guard = aGuard();
    guard.assigned({ [TOPIC]: [0] });
    const admitted = guard.admits(TOPIC, 0);
    await jest.advanceTimersByTimeAsync(100);
    end = 6;
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await admitted).toBe('admitted');
    expect(holds).toEqual([]);
    await guard.stop();
  });

  it('goes on once the partition is as it was', async () => {
    const guard = await aStoppedPartition();
    end = 6;
    await lookAgain(guard);
    expect(await guard.admits(TOPIC, 0)).toBe('admitted');
    expect(holds).toEqual([true, false]);
    expect(health.parts()).toEqual({});
    await guard.stop();
  });

  it.each([
    [0, [6]],
    [8, [8]],
  ])(
    'moves to the position of a source of its own, and admits nothing that was fetched before (%s)',
    async (low, moves) => {
      [committed, end] = [COMMITTED, 9];
      const guard = aGuard(undefined, true);
      begin = low;
      guard.assigned({ [TOPIC]: [0] });
      expect(await guard.admits(TOPIC, 0)).toBe('moved');
      expect(movedTo).toEqual(moves);
      expect(await guard.admits(TOPIC, 0)).toBe('admitted');
      await guard.stop();
    },
  );

  it('admits the other partitions while one has no leader, and checks it once it has one', async () => {
    jest.useFakeTimers();
    [committed, end] = [COMMITTED, 9];
    const guard = aGuard();
    isLed = false;
    guard.assigned({ [TOPIC]: [0, 1] });
    expect(await guard.admits(TOPIC, 1)).toBe('admitted');
    let isSettled = false;
    const admission = guard.admits(TOPIC, 0).finally(() => (isSettled = true));
    const looksOfCheck = looks;
    await jest.advanceTimersByTimeAsync(5_000);
    expect([looks, isSettled]).toEqual([looksOfCheck, false]);
    guard.tick();
    await jest.advanceTimersByTimeAsync(5_000);
    expect([looks, isSettled]).toEqual([2 * looksOfCheck, true]);
    expect(await admission).toBe('held');
    // Its records are fetched again: they wait for the next check.
    const again = guard.admits(TOPIC, 0);
    isLed = true;
    guard.tick();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await again).toBe('admitted');
    expect(await guard.admits(TOPIC, 1)).toBe('admitted');
    await guard.stop();
  });

  it('stays at the committed position', async () => {
    [committed, end] = [COMMITTED, 9];
    const guard = aGuard();
    guard.assigned({ [TOPIC]: [0] });
    expect(await guard.admits(TOPIC, 0)).toBe('admitted');
    expect(movedTo).toEqual([]);
    await guard.stop();
  });

  it('names with each offset the last record before it', async () => {
    [committed, end] = [COMMITTED, 9];
    const guard = aGuard();
    guard.assigned({ [TOPIC]: [0] });
    await guard.admits(TOPIC, 0);
    for (const offset of [6, 7]) guard.seen(TOPIC, 0, { offset, timestampMs: 0 } as StoredRecord);
    const anchored = [6, 7, 8, 9].map((next) => guard.metadataOf(TOPIC, 0, next)?.split(':')[0]);
    expect(anchored).toEqual([undefined, '6', '7', '7']);
    await guard.stop();
  });

  it('names the record before the position that it began at until another one is handed over', async () => {
    const anchor = { offset: 5, fingerprint: '0123456789abcdef' };
    // Retention has removed the record of the anchor, so nothing has to be read.
    [committed, end] = [{ next: 6, anchor }, 9];
    const guard = aGuard();
    begin = 6;
    guard.assigned({ [TOPIC]: [0] });
    await guard.admits(TOPIC, 0);
    guard.seen(TOPIC, 0, { offset: 8, timestampMs: 0 } as StoredRecord);
    // A part of the batch whose last record is 8.
    expect(guard.metadataOf(TOPIC, 0, 7)).toBe('5:0123456789abcdef');
    expect(guard.metadataOf(TOPIC, 0, 9)).toMatch(/^8:/);
    await guard.stop();
  });

  it('lets nobody wait for a check while Kafka is away and the consumer stops', async () => {
    [committed, end] = [COMMITTED, 6];
    const guard = aGuard(() => true);
    guard.assigned({ [TOPIC]: [0] });
    const admitted = guard.admits(TOPIC, 0);
    guard.giveUp();
    expect(await admitted).toBe('held');
    await guard.stop();
  });

  it('lets nobody wait for the leader of a partition while the consumer stops', async () => {
    [committed, end] = [COMMITTED, 6];
    const guard = aGuard();
    isLed = false;
    guard.assigned({ [TOPIC]: [0, 1] });
    guard.giveUp();
    await new Promise(setImmediate);
    expect(looks).toBeGreaterThan(0);
    expect(await guard.admits(TOPIC, 0)).toBe('held');
    await guard.stop();
  });

  it('stays stopped when the group loses its offsets', async () => {
    const guard = await aStoppedPartition();
    committed = undefined;
    await lookAgain(guard);
    expect(await guard.admits(TOPIC, 0)).toBe('held');
    await guard.stop();
  });

  it('stops when records are gone that it was given in an earlier assignment and has not committed', async () => {
    jest.useFakeTimers();
    [committed, end] = [COMMITTED, 9];
    const guard = aGuard();
    guard.assigned({ [TOPIC]: [0] });
    expect(await guard.admits(TOPIC, 0)).toBe('admitted');
    for (const offset of [8, 5]) guard.seen(TOPIC, 0, { offset, timestampMs: 0 } as StoredRecord);
    end = 8;
    guard.assigned({ [TOPIC]: [0] });
    const admitted = guard.admits(TOPIC, 0);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await admitted).toBe('held');
    await guard.stop();
  });

  it('notices that its source has another position than the one that it found', async () => {
    jest.useFakeTimers();
    [committed, end] = [undefined, 0];
    const guard = aGuard();
    guard.assigned({ [TOPIC]: [0] });
    expect(await guard.admits(TOPIC, 0)).toBe('admitted');
    // A transaction from before the partition went back was committed late.
    [committed, end] = [COMMITTED, 3];
    expect(await guard.admits(TOPIC, 0)).toBe('admitted');
    guard.doubt(TOPIC, 0);
    const admitted = guard.admits(TOPIC, 0);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await admitted).toBe('held');
    await guard.stop();
  });

  /** Admits the records of the partition up to offset 9. */
  async function anAdmittedPartition(isAway?: () => boolean): Promise<PositionGuard> {
    [committed, end] = [COMMITTED, 9];
    const guard = aGuard(isAway);
    guard.assigned({ [TOPIC]: [0] });
    expect(await guard.admits(TOPIC, 0)).toBe('admitted');
    return guard;
  }

  async function removedUnread(): Promise<number> {
    const { text } = await metrics.scrape();
    return Number(/^gapless_records_removed_unread_total\{.*\} (\d+)$/m.exec(text)?.[1]);
  }

  describe('after a connection to a broker broke', () => {
    it('compares again before it admits more', async () => {
      const guard = await anAdmittedPartition();
      end = 3;
      expect(await guard.admits(TOPIC, 0)).toBe('admitted');
      interruptions++;
      expect(await guard.admits(TOPIC, 0)).toBe('held');
      await guard.stop();
    });

    it('compares again without records, too', async () => {
      const guard = await anAdmittedPartition();
      [end, interruptions] = [3, 1];
      guard.tick();
      await eventually(() => {
        expect(holds).toEqual([true]);
      });
      await guard.stop();
    });

    it('compares once for each broken connection', async () => {
      let requests = 0;
      const guard = await anAdmittedPartition(() => ++requests === 0);
      interruptions++;
      expect(await guard.admits(TOPIC, 0)).toBe('admitted');
      const compared = requests;
      guard.tick();
      expect(await guard.admits(TOPIC, 0)).toBe('admitted');
      expect(requests).toBe(compared);
      await guard.stop();
    });
  });

  describe('an offset that the brokers do not have', () => {
    it('is left for the first one that is kept, and what retention removed is counted once', async () => {
      const guard = await anAdmittedPartition();
      [begin, end] = [20, 30];
      guard.outOfRange(TOPIC, 0, 7);
      expect(await guard.admits(TOPIC, 0)).toBe('admitted');
      expect([movedTo, holds]).toEqual([[20], [true, false]]);
      interruptions++;
      expect(await guard.admits(TOPIC, 0)).toBe('admitted');
      expect([movedTo, holds]).toEqual([[20], [true, false]]);
      expect(await removedUnread()).toBe(13);
      begin = 25;
      guard.outOfRange(TOPIC, 0, 20);
      expect(await guard.admits(TOPIC, 0)).toBe('admitted');
      expect([movedTo, await removedUnread()]).toEqual([[20, 25], 18]);
      await guard.stop();
    });

    it('is counted once, also if the check after the assignment found it first', async () => {
      [committed, end] = [COMMITTED, 30];
      const guard = aGuard();
      begin = 20;
      for (let assignments = 0; assignments < 2; assignments++) {
        guard.assigned({ [TOPIC]: [0] });
        expect(await guard.admits(TOPIC, 0)).toBe('admitted');
      }
      guard.outOfRange(TOPIC, 0, COMMITTED.next);
      expect(await guard.admits(TOPIC, 0)).toBe('admitted');
      expect([movedTo, await removedUnread()]).toEqual([[20], 14]);
      await guard.stop();
    });

    it('stops the partition if it is after its end', async () => {
      const guard = await anAdmittedPartition();
      guard.outOfRange(TOPIC, 0, 12);
      expect(await guard.admits(TOPIC, 0)).toBe('held');
      expect([movedTo, holds.at(-1)]).toEqual([[], true]);
      await guard.stop();
    });

    it('stops a partition of which no position is known', async () => {
      [committed, end] = [undefined, 9];
      const guard = aGuard();
      guard.assigned({ [TOPIC]: [0] });
      expect(await guard.admits(TOPIC, 0)).toBe('admitted');
      guard.outOfRange(TOPIC, 0, 12);
      expect(await guard.admits(TOPIC, 0)).toBe('held');
      await guard.stop();
    });

    it('changes nothing for a partition that stands still already', async () => {
      const guard = await aStoppedPartition();
      guard.outOfRange(TOPIC, 0, 1);
      guard.doubt(TOPIC, 0);
      expect(await guard.admits(TOPIC, 0)).toBe('held');
      await guard.stop();
    });
  });

  it('compares again while Kafka is away, and says so until it answers', async () => {
    [committed, end] = [COMMITTED, 9];
    let isAway = true;
    const guard = aGuard(() => isAway);
    guard.assigned({ [TOPIC]: [0] });
    const admitted = guard.admits(TOPIC, 0);
    await eventually(() => {
      expect(JSON.stringify(health.parts())).toContain('Kafka is away');
    });
    isAway = false;
    expect(await admitted).toBe('admitted');
    expect(health.parts()).toEqual({});
    await guard.stop();
  });

  it('asks its source where it goes on when that is in doubt, whatever it has read itself', async () => {
    const guard = await anAdmittedPartition();
    guard.seen(TOPIC, 0, { offset: 7, timestampMs: 0 } as StoredRecord);
    committed = { next: 12, anchor: null };
    guard.doubt(TOPIC, 0);
    expect(await guard.admits(TOPIC, 0)).toBe('held');
    await guard.stop();
  });

  it('lets nobody wait for a check of an earlier assignment', async () => {
    [committed, end] = [COMMITTED, 3];
    const guard = aGuard();
    guard.assigned({ [TOPIC]: [0] });
    const admitted = guard.admits(TOPIC, 0);
    guard.assigned({});
    expect(await admitted).toBe('held');
    await guard.stop();
  });

  it('never applies to an assignment what it found for the one before', async () => {
    [committed, end] = [COMMITTED, 3];
    const guard = aGuard();
    guard.assigned({ [TOPIC]: [0] });
    await new Promise(setImmediate);
    // Another member put the position right meanwhile.
    committed = { next: 2, anchor: null };
    guard.assigned({ [TOPIC]: [0] });
    expect(await guard.admits(TOPIC, 0)).toBe('admitted');
    expect(holds).toEqual([]);
    await guard.stop();
  });

  describe('whose source lost what it had, as in a failover', () => {
    async function aGuardAt(next: number): Promise<PositionGuard> {
      jest.useFakeTimers();
      [committed, end] = [COMMITTED, 9];
      const guard = aGuard(undefined, true);
      guard.assigned({ [TOPIC]: [0] });
      expect(await guard.admits(TOPIC, 0)).toBe('moved');
      guard.seen(TOPIC, 0, { offset: next - 1, timestampMs: 0 } as StoredRecord);
      return guard;
    }

    async function tick(guard: PositionGuard): Promise<void> {
      await jest.advanceTimersByTimeAsync(11_000);
      guard.tick();
      await jest.advanceTimersByTimeAsync(1_000);
    }

    it('moves back without waiting for another record', async () => {
      const guard = await aGuardAt(8);
      guard.handled(TOPIC, 0, 8);
      committed = { next: 7, anchor: null };
      await tick(guard);
      expect(movedTo).toEqual([6, 7]);
      await tick(guard);
      expect(movedTo).toEqual([6, 7]);
      await guard.stop();
    });

    it('moves back if it lost what it had at the assignment', async () => {
      const guard = await aGuardAt(6);
      committed = { next: 4, anchor: null };
      await tick(guard);
      expect(movedTo).toEqual([6, 4]);
      await guard.stop();
    });

    it('stays where it is while records are being handled, and at offsets without records', async () => {
      const guard = await aGuardAt(8);
      await tick(guard);
      committed = { next: 8, anchor: null };
      guard.handled(TOPIC, 0, 9);
      await tick(guard);
      expect(movedTo).toEqual([6]);
      await guard.stop();
    });
  });
});
