import { expect, it } from '@jest/globals';
import type { Admin } from 'kafkajs';
import { LogPositions, type TopicNames } from '#libs/kafka-log';
import type { ChatQueueProjection } from '#libs/postgres';
import { CaughtUpPartitions } from './caught-up-partitions.js';
import { FoldedInbox } from './folded-inbox.js';

const TOPICS = { inbox: 'inbox', log: 'log' } as unknown as TopicNames;

/** Partition 0 is caught up. Partition 1 always lags by so many events, of which one comes every millisecond. */
function found(lag: number, patienceMs: number): CaughtUpPartitions {
  const startedAt = performance.now();
  const written = () => 1_000 + Math.floor(performance.now() - startedAt);
  const places = (one: number) =>
    Promise.resolve(
      new Map([
        [0, 0],
        [1, one],
      ]),
    );
  return new CaughtUpPartitions({
    positions: {
      ends: (topic: string) => places(topic === 'inbox' ? written() : written() - lag),
      committed: () => places(written() - lag),
    } as unknown as LogPositions,
    projection: { foldedUpTo: () => places(written() - lag) } as unknown as ChatQueueProjection,
    folded: new FoldedInbox(),
    topics: TOPICS,
    sequencerGroup: 'sequencer',
    patienceMs,
    signal: new AbortController().signal,
  });
}

async function yielded(finding: AsyncIterable<readonly number[]>): Promise<readonly number[]> {
  const all: number[] = [];
  for await (const partitions of finding) all.push(...partitions);
  return all;
}

it('finds a partition that lags all the time, if it lags by less than the sweep waits', async () => {
  expect(await yielded(found(500, 5_000).find())).toEqual([0, 1]);
});

it('leaves out a partition that lags by more, as often as it is asked', async () => {
  const caughtUp = found(5_000, 10_000);
  expect(await yielded(caughtUp.find(undefined, 200))).toEqual([0]);
  expect(await yielded(caughtUp.find(undefined, 200))).toEqual([0]);
});

it('leaves out partitions that have no leader in the inbox or in the log', async () => {
  const offsetsOf = (partition: number) => ({ partition, low: '0', high: '5', offset: '5' });
  const admin = {
    // kafkajs has no offsets of a partition without a leader.
    fetchTopicOffsets: (topic: string) =>
      Promise.resolve(
        [0, 1, 2].map((partition) =>
          partition === (topic === TOPICS.inbox ? 1 : 2) ? { partition } : offsetsOf(partition),
        ),
      ),
    fetchOffsets: () => Promise.resolve([{ topic: TOPICS.inbox, partitions: [0, 1, 2].map(offsetsOf) }]),
  } as unknown as Admin;
  const read = new Map([0, 1, 2].map((partition) => [partition, 5]));
  const caughtUp = new CaughtUpPartitions({
    positions: new LogPositions({ withAdmin: (ask) => ask(admin) }),
    projection: { foldedUpTo: () => Promise.resolve(read) } as unknown as ChatQueueProjection,
    folded: new FoldedInbox(),
    topics: TOPICS,
    sequencerGroup: 'sequencer',
    patienceMs: 200,
    signal: new AbortController().signal,
  });
  expect(await yielded(caughtUp.find())).toEqual([0]);
});
