import { beforeEach, expect, it } from '@jest/globals';
import { PositionSources, type BatchContext, type KafkaConnection, type RecordBatch } from '#libs/kafka-log';
import type { FeedAudit, Store } from '#libs/postgres';
import { FakeAppender } from '../../../test/support/fake-appender.js';
import { aStageKit } from '../../../test/support/stage-kit.js';
import { ProjectDeliveriesHandler } from './project-deliveries.handler.js';
import { ProjectFeedHandler } from './project-feed.handler.js';
import { TailCheck } from './tail-check.js';

const KIT = aStageKit({ nowMs: 0, config: { autoDisableAfter: 20, partitions: 1 } });
const TAIL = new TailCheck({} as FeedAudit, KIT.config, KIT.clock, KIT.logger);

let appender: FakeAppender;
/** How many of the next statements fail. */
let failures: number;

/** A database that has projected nothing, and gets nothing but positions. */
const database = {
  feed: {
    settled: () => Promise.resolve(),
    ofPartition: () => database,
    isAt: () => true,
  },
  query: () => Promise.resolve([{ next_offset: '0', tables: '' }]),
  prepared: () => {
    if (failures-- > 0) return Promise.reject(new Error('the database is away'));
    return Promise.resolve([{ moved: '1', endpoints: [], health: [], endings: [], deliveries: [], attempts: [] }]);
  },
} as unknown as Store;

const HANDLERS = {
  feed: () => new ProjectFeedHandler(database, new PositionSources(), TAIL, appender.asAppender, KIT),
  deliveries: () =>
    new ProjectDeliveriesHandler(database, new PositionSources(), {} as KafkaConnection, appender.asAppender, KIT),
};

/** Records that neither projection knows. */
function aBatch(...offsets: readonly number[]): RecordBatch {
  const records = offsets.map((offset) => ({
    topic: 'log',
    partition: 0,
    offset,
    key: null,
    value: Buffer.from('?'),
    headers: {},
    timestampMs: 0,
  }));
  return { topic: 'log', partition: 0, records };
}

function inAssignment(generation: number): BatchContext {
  return { generation, doubt: () => undefined } as unknown as BatchContext;
}

beforeEach(() => {
  [appender, failures] = [new FakeAppender(), 0];
});

it.each(['feed', 'deliveries'] as const)(
  'a foreign record of the %s becomes one dead letter, however often its batch comes',
  async (name) => {
    const handler = HANDLERS[name]();
    const origins = () => appender.records.map(({ headers }) => headers?.['x-origin']);
    failures = 3;
    for (const batch of [aBatch(0), aBatch(0), aBatch(0, 1)]) {
      await expect(handler.handle(batch, inAssignment(1))).rejects.toThrow('the database is away');
    }
    await handler.handle(aBatch(0, 1), inAssignment(1));
    expect(origins()).toEqual(['log/0/0', 'log/0/1']);
    // Another process may have had the partition, and the topic may hold other records by then.
    await handler.handle(aBatch(0), inAssignment(2));
    expect(origins()).toEqual(['log/0/0', 'log/0/1', 'log/0/0']);
  },
);

it('a dead letter that was not written is written with the next try', async () => {
  appender.failures = 1;
  const handler = HANDLERS.feed();
  await expect(handler.handle(aBatch(0), inAssignment(1))).rejects.toThrow('the brokers are away');
  await handler.handle(aBatch(0), inAssignment(1));
  expect(appender.records).toHaveLength(1);
});
