import { beforeEach, expect, it } from '@jest/globals';
import { backOffMs, createLogger, HealthBoard } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { FailingPartitions } from './failing-partitions.js';

let health: HealthBoard;
let failing: FailingPartitions;
let metrics: Metrics;

beforeEach(() => {
  [health, metrics] = [new HealthBoard(), new Metrics()];
  const consumer = { groupId: 'gapless-router', group: 'router' };
  failing = new FailingPartitions(consumer, metrics, createLogger('silent', 'test'), health);
});

function fail(partition: number): number {
  return failing.failed('log', partition, 7, new Error('the database is away'));
}

it('waits longer after each failure of a partition, and begins again after a success', () => {
  expect([fail(0), fail(0), fail(0)]).toEqual([backOffMs(1), backOffMs(2), backOffMs(3)]);
  expect(fail(1)).toBe(backOffMs(1));
  failing.succeeded('log', 0);
  expect(fail(0)).toBe(backOffMs(1));
  expect(fail(1)).toBe(backOffMs(2));
});

it('is not ready until the partition that failed succeeds', () => {
  fail(0);
  fail(1);
  failing.succeeded('log', 1);
  expect(Object.entries(health.parts())).toEqual([
    [expect.stringContaining('log/0'), expect.objectContaining({ status: 'waiting' })],
  ]);
  failing.succeeded('log', 0);
  expect(health.parts()).toEqual({});
});

it('forgets everything with an assignment', () => {
  fail(0);
  failing.clear();
  expect(health.parts()).toEqual({});
  expect(fail(0)).toBe(backOffMs(1));
});

it('counts partitions from their first failure until their batch succeeds, or moves to another member', async () => {
  const counted = async () =>
    /^gapless_partitions_failing\{group="router"\} (\d+)$/m.exec((await metrics.scrape()).text)?.[1];
  expect(await counted()).toBe('0');
  fail(1);
  fail(1);
  fail(2);
  expect(await counted()).toBe('2');
  failing.succeeded('log', 1);
  failing.succeeded('log', 3);
  expect(await counted()).toBe('1');
  failing.clear();
  expect(await counted()).toBe('0');
});
