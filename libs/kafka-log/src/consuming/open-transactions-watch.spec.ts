import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger, HealthBoard } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { noteStableOffset } from '../kafkajs/open-transactions.js';
import { OpenTransactionsWatch } from './open-transactions-watch.js';

const TOPIC = 'inbox';
const ASSIGNED = { [TOPIC]: [0, 1] };

let nowMs: number;
let metrics: Metrics;
let health: HealthBoard;
let watch: OpenTransactionsWatch;

beforeEach(() => {
  nowMs = 1_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  metrics = new Metrics();
  health = new HealthBoard();
  const consumer = { groupId: 'gapless-sequencer', group: 'sequencer' };
  watch = new OpenTransactionsWatch(consumer, metrics, createLogger('silent', 'test'), health);
});

afterEach(() => {
  for (const partition of ASSIGNED[TOPIC]) noteStableOffset(TOPIC, partition, 9, 9);
  jest.restoreAllMocks();
});

async function seconds(): Promise<number> {
  const { text } = await metrics.scrape();
  return Number(/^gapless_open_transaction_seconds\{group="sequencer"\} (.+)$/m.exec(text)?.[1]);
}

/** Fetches find the transaction for so many milliseconds. */
function openSince(partition: number, offset: number, forMs: number): void {
  noteStableOffset(TOPIC, partition, offset, 9);
  nowMs += forMs;
  noteStableOffset(TOPIC, partition, offset, 9);
}

describe('a transaction that a producer leaves open', () => {
  it('is a metric at once, and makes the process not ready after 5 s', async () => {
    noteStableOffset(TOPIC, 1, 7, 9);
    nowMs += 4_999;
    watch.look(ASSIGNED);
    expect([await seconds(), health.isReady]).toEqual([4.999, true]);
    nowMs += 1;
    noteStableOffset(TOPIC, 1, 7, 12);
    watch.look(ASSIGNED);
    expect([await seconds(), health.isReady]).toEqual([5, false]);
    expect(JSON.stringify(health.parts())).toContain('a producer keeps a transaction open at offset 7');
  });

  it.each<[string, () => void, Readonly<Record<string, readonly number[]>>]>([
    [
      'the stable offset moves on',
      () => {
        noteStableOffset(TOPIC, 1, 9, 9);
      },
      ASSIGNED,
    ],
    ['the partition belongs to another process', () => undefined, { [TOPIC]: [0] }],
  ])('is over once %s', async (_what, end, assigned) => {
    openSince(1, 7, 6_000);
    watch.look(ASSIGNED);
    expect(health.isReady).toBe(false);
    end();
    watch.look(assigned);
    expect([await seconds(), health.isReady]).toEqual([0, true]);
  });

  it('is not reported while nobody fetches the partition: it may be over', async () => {
    openSince(1, 7, 6_000);
    watch.look(ASSIGNED);
    nowMs += 60_000;
    watch.look(ASSIGNED);
    expect([await seconds(), health.isReady]).toEqual([0, true]);
    noteStableOffset(TOPIC, 1, 7, 9);
    watch.look(ASSIGNED);
    expect([await seconds(), health.isReady]).toEqual([66, false]);
  });

  it('counts from its own beginning, not from that of an earlier one', async () => {
    openSince(0, 3, 6_000);
    noteStableOffset(TOPIC, 0, 5, 9);
    nowMs += 2_000;
    watch.look(ASSIGNED);
    expect([await seconds(), health.isReady]).toEqual([2, true]);
  });
});
