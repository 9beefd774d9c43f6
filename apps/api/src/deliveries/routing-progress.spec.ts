import { expect, it } from '@jest/globals';
import type { RoutedPlace } from '#libs/domain';
import { partitionOf, topicNames, type KafkaConnection } from '#libs/kafka-log';
import type { RouterPlaces } from '#libs/postgres';
import type { Config } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import { RoutingProgress } from './routing-progress.js';

const PARTITIONS = 12;
const TOPICS = topicNames('gapless', []);
const ORG = anOrgId();
const OWN = partitionOf(ORG, PARTITIONS);
const NOW_MS = 1_750_000_000_000;
const OLD_MS = NOW_MS - 3_600_000;
const OLD_ENOUGH = NOW_MS - 60_000;

/** Before which time events are routed. The organization's partition of the log ends at 10. */
async function routedBefore(placeMs: number | null, committed: number | Error) {
  const admin = {
    fetchTopicOffsets: (topic: string) =>
      Promise.resolve(topic === TOPICS.log ? [{ partition: OWN, low: '0', high: '10', offset: '10' }] : []),
    fetchOffsets: ({ groupId }: { readonly groupId: string }) =>
      Promise.resolve(
        groupId === 'test-router' ? [{ partitions: [{ partition: OWN, offset: String(committed) }] }] : [],
      ),
  };
  let asked = 0;
  const connection = {
    withAdmin: (ask: (given: typeof admin) => unknown) => {
      asked++;
      return committed instanceof Error ? Promise.reject(committed) : Promise.resolve(ask(admin));
    },
  };
  const place: RoutedPlace | undefined = placeMs === null ? undefined : { nextOffset: 5, appendedUntilMs: placeMs };
  const places = {
    find: (topic: string, partition: number) =>
      Promise.resolve(topic === TOPICS.log && partition === OWN ? place : undefined),
  };
  const progress = new RoutingProgress(
    connection as unknown as KafkaConnection,
    places as unknown as RouterPlaces,
    TOPICS,
    { partitions: PARTITIONS, topicPrefix: 'test' } as Config,
    { now: () => NOW_MS },
  );
  const { nowMs, routedBeforeMs } = await progress.lookTime(ORG);
  expect(nowMs).toBe(NOW_MS);
  return { routedBeforeMs, asked };
}

it('events count as routed after a minute, if the router was further or has no place', async () => {
  expect(await routedBefore(null, 0)).toEqual({ routedBeforeMs: OLD_ENOUGH, asked: 0 });
  expect(await routedBefore(OLD_ENOUGH, 5)).toEqual({ routedBeforeMs: OLD_ENOUGH, asked: 0 });
});

it('events after the place of a router that is behind do not count as routed', async () => {
  expect((await routedBefore(OLD_MS, 9)).routedBeforeMs).toBe(OLD_MS + 1);
  expect((await routedBefore(OLD_ENOUGH - 1, 9)).routedBeforeMs).toBe(OLD_ENOUGH);
  expect((await routedBefore(OLD_MS, -1)).routedBeforeMs).toBe(OLD_MS + 1);
});

it('events after an old place count as routed, if the router has nothing left', async () => {
  expect((await routedBefore(OLD_MS, 10)).routedBeforeMs).toBe(OLD_ENOUGH);
});

it('without brokers, the place decides', async () => {
  expect((await routedBefore(OLD_MS, new Error('no broker'))).routedBeforeMs).toBe(OLD_MS + 1);
});
