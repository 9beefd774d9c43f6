import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Position } from '#libs/domain';
import { Metrics } from '#libs/telemetry';
import { createLogger, HealthBoard } from '#libs/runtime';
import type { KafkaConnection } from '../connection/kafka-connection.js';
import type { StoredRecord } from '../records/record.js';
import { PositionGuard } from './position-guard.js';
import { StoppedPartitions } from './stopped-partitions.js';

const TOPIC = 'inbox';
const COMMITTED: Position = { next: 6, anchor: null };

let committed: Position | undefined;
let end: number;
let movedTo: readonly number[];
let holds: boolean[];
let health: HealthBoard;

function aGuard(isAway = () => false, startsAtSource = false): PositionGuard {
  const moved: number[] = [];
  movedTo = moved;
  holds = [];
  const metrics = new Metrics();
  const logger = createLogger('silent', 'test');
  health = new HealthBoard();
  const connection = {
    metrics,
    interruptions: 0,
    withAdmin: () =>
      isAway()
        ? Promise.reject(new Error('Kafka is away'))
        : Promise.resolve([{ partition: 0, low: '0', high: String(end), offset: String(end) }]),
  } as unknown as KafkaConnection;
  return new PositionGuard({
    connection,
    groupId: 'gapless-sequencer',
    group: 'sequencer',
    logger,
    health,
    stopped: new StoppedPartitions({ groupId: 'gapless-sequencer', group: 'sequencer' }, metrics, logger, health),
    source: () => Promise.resolve(new Map(committed === undefined ? [] : [[0, committed] as const])),
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
    expect(await admitted).toBe(false);
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
    expect(await admitted).toBe(true);
    expect(holds).toEqual([]);
    await guard.stop();
  });

  it('goes on once the partition is as it was', async () => {
    const guard = await aStoppedPartition();
    end = 6;
    await lookAgain(guard);
    expect(await guard.admits(TOPIC, 0)).toBe(true);
    expect(holds).toEqual([true, false]);
    expect(health.parts()).toEqual({});
    await guard.stop();
  });

  it.each([
    [true, [6]],
    [false, []],
  ])('moves to the position before it admits anything, if that is not the committed one (%s)', async (own, moves) => {
    [committed, end] = [COMMITTED, 9];
    const guard = aGuard(undefined, own);
    guard.assigned({ [TOPIC]: [0] });
    expect(await guard.admits(TOPIC, 0)).toBe(true);
    expect(movedTo).toEqual(moves);
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

  it('lets nobody wait for a check while Kafka is away and the consumer stops', async () => {
    [committed, end] = [COMMITTED, 6];
    const guard = aGuard(() => true);
    guard.assigned({ [TOPIC]: [0] });
    const admitted = guard.admits(TOPIC, 0);
    guard.giveUp();
    expect(await admitted).toBe(false);
    await guard.stop();
  });

  it('stays stopped when the group loses its offsets', async () => {
    const guard = await aStoppedPartition();
    committed = undefined;
    await lookAgain(guard);
    expect(await guard.admits(TOPIC, 0)).toBe(false);
    await guard.stop();
  });

  it('stops when records are gone that it was given in an earlier assignment and has not committed', async () => {
    jest.useFakeTimers();
    [committed, end] = [COMMITTED, 9];
    const guard = aGuard();
    guard.assigned({ [TOPIC]: [0] });
    expect(await guard.admits(TOPIC, 0)).toBe(true);
    for (const offset of [8, 5]) guard.seen(TOPIC, 0, { offset, timestampMs: 0 } as StoredRecord);
    end = 8;
    guard.assigned({ [TOPIC]: [0] });
    const admitted = guard.admits(TOPIC, 0);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await admitted).toBe(false);
    await guard.stop();
  });

  it('notices that its source has another position than the one that it found', async () => {
    jest.useFakeTimers();
    [committed, end] = [undefined, 0];
    const guard = aGuard();
    guard.assigned({ [TOPIC]: [0] });
    expect(await guard.admits(TOPIC, 0)).toBe(true);
    // A transaction from before the partition went back was committed late.
    [committed, end] = [COMMITTED, 3];
    expect(await guard.admits(TOPIC, 0)).toBe(true);
    guard.doubt(TOPIC, 0);
    const admitted = guard.admits(TOPIC, 0);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await admitted).toBe(false);
    await guard.stop();
  });

  describe('whose source lost what it had, as in a failover', () => {
    async function aGuardAt(next: number): Promise<PositionGuard> {
      jest.useFakeTimers();
      [committed, end] = [COMMITTED, 9];
      const guard = aGuard(undefined, true);
      guard.assigned({ [TOPIC]: [0] });
      expect(await guard.admits(TOPIC, 0)).toBe(true);
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
