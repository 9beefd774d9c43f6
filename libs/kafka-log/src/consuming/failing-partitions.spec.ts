import { expect, it } from '@jest/globals';
import { createLogger, HealthBoard } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { FailingPartitions } from './failing-partitions.js';

it('partitions fail from their first failure until their batch succeeds, or moves to another member', async () => {
  const metrics = new Metrics();
  const partitions = new FailingPartitions(
    { groupId: 'gapless.router', group: 'router' },
    metrics,
    createLogger('silent', 'test'),
    new HealthBoard(),
  );
  const failing = async () =>
    /^gapless_partitions_failing\{group="router"\} (\d+)$/m.exec((await metrics.scrape()).text)?.[1];
  expect(await failing()).toBe('0');
  partitions.failed('log', 1, 7, new Error('away'));
  partitions.failed('log', 1, 7, new Error('away'));
  partitions.failed('log', 2, 9, new Error('away'));
  expect(await failing()).toBe('2');
  partitions.succeeded('log', 1);
  partitions.succeeded('log', 3);
  expect(await failing()).toBe('1');
  partitions.clear();
  expect(await failing()).toBe('0');
});
