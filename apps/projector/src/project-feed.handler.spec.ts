import { expect, it, jest } from '@jest/globals';
import { PositionSources, type BatchContext, type RecordBatch } from '#libs/kafka-log';
import { FeedServers, type FeedAudit, type Store } from '#libs/postgres';
import { FakeAppender } from '../../../test/support/fake-appender.js';
import { aStageKit } from '../../../test/support/stage-kit.js';
import { ProjectFeedHandler } from './project-feed.handler.js';
import { TailCheck } from './tail-check.js';

/** Has a position of each partition that it holds: two databases share the feed. */
class FakeStore {
  failure: Error | undefined;
  feed: unknown;

  constructor(readonly partitions: readonly number[]) {}

  query(): Promise<readonly unknown[]> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve(this.partitions.map((partition) => ({ partition, next_offset: '7', anchor: null })));
  }
}

it('lets the partitions of a database that fails wait, and no others', async () => {
  const kit = aStageKit({ nowMs: 0, config: { autoDisableAfter: 20, partitions: 4 } });
  const warn = jest.spyOn(kit.logger, 'warn');
  const [main, other] = [new FakeStore([0, 2]), new FakeStore([1, 3])];
  const servers = [main, other].map((store, place) => ({ place, name: String(place), store }));
  const feed = new FeedServers(main as never, servers as never, () => 0);
  main.feed = feed;
  feed.joined(feed.all[1]!);
  const sources = new PositionSources();
  const tail = new TailCheck({} as FeedAudit, kit.config, kit.clock, kit.logger);
  const handler = new ProjectFeedHandler(main as unknown as Store, sources, tail, new FakeAppender().asAppender, kit);
  const positionsOf = async (...asked: readonly number[]) => [
    ...(await sources.of('projector-feed')!('log', asked)).keys(),
  ];
  const waits = async (partition: number) => {
    const record = { offset: 3, key: null, value: null, headers: {}, timestampMs: 0 };
    const batch: RecordBatch = { topic: 'log', partition, records: [{ topic: 'log', partition, ...record }] };
    const context = { generation: 1, doubt: () => undefined } as unknown as BatchContext;
    return (await handler.handle(batch, context))?.kind === 'later';
  };

  other.failure = new Error('too many connections');
  expect(await positionsOf(0, 1, 2, 3)).toEqual([0, 2]);
  expect([await waits(0), await waits(1)]).toEqual([false, true]);
  await positionsOf(1, 3);
  const waiting = warn.mock.calls.filter(([, message]) => message === 'projector.waiting');
  expect(waiting.map(([fields]) => fields)).toEqual([{ err: other.failure, partitions: [1, 3] }]);

  other.failure = undefined;
  expect(await positionsOf(1, 3)).toEqual([1, 3]);
  expect(await waits(1)).toBe(false);

  main.failure = new Error('Postgres is away');
  await expect(positionsOf(0, 1)).rejects.toThrow('Postgres is away');
});
