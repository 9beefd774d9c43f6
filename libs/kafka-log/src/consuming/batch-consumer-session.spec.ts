import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Position } from '#libs/domain';
import { createLogger, HealthBoard } from '#libs/runtime';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { FakeConsumer } from '../testing/fake-consumer.js';
import { BatchConsumer, type BatchContext, type Handled } from './batch-consumer.js';
import type { ConsumerSession } from './consumer-sessions.js';

/** A batch that was handed over, and what ends its handling. */
interface Given {
  readonly offsets: readonly number[];
  readonly context: BatchContext;
  readonly end: (handled?: Handled) => void;
  readonly fail: () => void;
}

let consumer: FakeConsumer;
let connection: KafkaConnection;
let batches: BatchConsumer;
let given: Given[];
let session: ConsumerSession | null;
let health: HealthBoard;
let holdsCommits: boolean;
/** Where the group continues. */
let positions: ReadonlyMap<number, Position>;

beforeEach(async () => {
  [health, holdsCommits, positions] = [new HealthBoard(), false, new Map()];
  const logger = createLogger('silent', 'test');
  [consumer, given] = [new FakeConsumer(() => holdsCommits), []];
  connection = new KafkaConnection({ brokers: [], clientId: 'test', logger, kafka: consumer.kafka });
  batches = new BatchConsumer(
    connection,
    {
      groupId: 'test-group',
      group: 'group',
      topics: ['topic'],
      commits: 'after',
      handle: ({ records }, context) =>
        new Promise((end, reject) => {
          const offsets = records.map(({ offset }) => offset);
          given.push({
            offsets,
            context,
            end,
            fail: () => {
              reject(new Error('the database is away'));
            },
          });
        }),
      onSession: (next) => {
        session = next;
      },
      positions: () => Promise.resolve(positions),
    },
    logger,
    health,
  );
  await batches.start();
});

afterEach(async () => {
  jest.restoreAllMocks();
  for (const { end } of given) end();
  await batches.stop();
});

/** Hands over a batch, and returns it once its handler was called. */
async function handOver(...offsets: readonly number[]): Promise<Given> {
  const before = given.length;
  await consumer.handOver(...offsets);
  return eventually(() => given[before]!);
}

const moment = () => new Promise((resolve) => setTimeout(resolve, 400));

describe('the lease of a member', () => {
  /** Sets how much later it is. */
  function itIs(laterMs: number): void {
    const nowMs = performance.now() + laterMs;
    jest.spyOn(performance, 'now').mockReturnValue(nowMs);
  }

  it('is certain until half of the session has passed since a heartbeat', async () => {
    const { context } = await handOver(0);
    const holds = () => [session?.holdsLease(), context.holdsLease()];
    expect(holds()).toEqual([true, true]);
    itIs(connection.sessionTimes.current.sessionMs / 2);
    expect(holds()).toEqual([false, false]);
    consumer.emit('heartbeat');
    expect(holds()).toEqual([true, true]);
  });

  it('counts from when the heartbeat was sent, however late its answer is read', async () => {
    await handOver(0);
    const halfMs = connection.sessionTimes.current.sessionMs / 2;
    itIs(halfMs);
    consumer.emit('request', { apiName: 'Heartbeat', duration: halfMs + 1 });
    consumer.emit('heartbeat');
    expect(session?.holdsLease()).toBe(false);
    consumer.emit('request', { apiName: 'Heartbeat', duration: 2 });
    consumer.emit('heartbeat');
    expect(session?.holdsLease()).toBe(true);
  });

  it('is lost while the member joins again, and what it got before gets none back', async () => {
    const { context, end } = await handOver(0);
    const held = session;
    end();
    let assign: () => void = () => undefined;
    const joined = consumer.join(new Promise((resolve) => (assign = resolve)));
    await eventually(() => {
      expect(held?.holdsLease()).toBe(false);
    });
    assign();
    await joined;
    expect(session?.holdsLease()).toBe(true);
    expect(session?.generation).toBeGreaterThan(held?.generation ?? Infinity);
    expect([held?.holdsLease(), context.holdsLease()]).toEqual([false, false]);
  });

  it('is lost with the session', async () => {
    const { context } = await handOver(0);
    const held = session;
    consumer.emit('crash', { error: new Error('the group is gone') });
    expect([session, held?.holdsLease(), context.holdsLease(), context.isStale()]).toEqual([null, false, false, true]);
  });
});

describe('a batch of an earlier assignment', () => {
  it('moves nothing once it is handled', async () => {
    const first = await handOver(0, 1);
    consumer.emit('group_join', { memberAssignment: { topic: [0] } });
    first.end();
    await first.context.commit('topic', 0, 2);
    first.context.seek('topic', 0, 50);
    await moment();
    expect([consumer.committed, consumer.seeks]).toEqual([[], []]);
  });

  it('moves nothing once it has failed', async () => {
    const first = await handOver(0, 1);
    consumer.emit('group_join', { memberAssignment: { topic: [0] } });
    first.fail();
    await moment();
    expect([consumer.committed, consumer.seeks, consumer.isPaused]).toEqual([[], [], false]);
  });
});

it('a batch that is finished in a later assignment moves nothing', async () => {
  let finish: () => void = () => undefined;
  (await handOver(0)).end({ kind: 'unfinished', rest: () => new Promise((resolve) => (finish = resolve)) });
  await moment();
  consumer.emit('group_join', { memberAssignment: { topic: [0] } });
  finish();
  await moment();
  expect(consumer.committed).toEqual([]);
});

it('records of a partition that ends before the position of the group are not handed over', async () => {
  [positions, consumer.end] = [new Map([[0, { next: 6, anchor: null }]]), 3];
  await consumer.join();
  void consumer.handOver(3);
  await eventually(() => {
    expect(consumer.isPaused).toBe(true);
  });
  await moment();
  expect(given).toEqual([]);
});

describe('the offset', () => {
  it('moves past a batch that is handled', async () => {
    (await handOver(0, 1)).end();
    await eventually(() => {
      expect(consumer.committed).toEqual(['2']);
    });
  });

  it('stays at a batch that fails, which is fetched again', async () => {
    (await handOver(3, 4)).fail();
    await eventually(() => {
      expect([consumer.seeks, consumer.isPaused]).toEqual([[3], true]);
    });
    await eventually(() => {
      expect(consumer.isPaused).toBe(false);
    });
    await moment();
    expect(consumer.committed).toEqual([]);
  });

  it('stays at the records that the handler asks for later', async () => {
    (await handOver(3, 4, 5)).end({ kind: 'later', nextOffset: 4, waitMs: 60_000 });
    await eventually(() => {
      expect([consumer.committed, consumer.seeks, consumer.isPaused]).toEqual([['4'], [4], true]);
    });
  });

  it('stays at a batch that is being finished, although later ones are handled', async () => {
    let finish: () => void = () => undefined;
    const first = await handOver(0);
    first.end({ kind: 'unfinished', rest: () => new Promise((resolve) => (finish = resolve)) });
    (await handOver(1)).end();
    await moment();
    expect(consumer.committed).toEqual([]);
    finish();
    await eventually(() => {
      expect(consumer.committed.at(-1)).toBe('2');
    });
  });

  it('stays at a batch whose rest fails, until the rest succeeds', async () => {
    let fails = true;
    let tries = 0;
    const rest = () => (tries++, fails ? Promise.reject(new Error('the database is away')) : Promise.resolve());
    (await handOver(0)).end({ kind: 'unfinished', rest });
    await eventually(() => {
      expect(tries).toBeGreaterThan(1);
    });
    expect(consumer.committed).toEqual([]);
    fails = false;
    await eventually(() => {
      expect(consumer.committed).toEqual(['1']);
    });
  });

  it('moves past offsets without records only after what comes before them', async () => {
    const first = await handOver(0);
    consumer.emit('end_batch_process', {
      topic: 'topic',
      partition: 0,
      batchSize: 0,
      firstOffset: '1',
      lastOffset: '4',
    });
    await moment();
    expect(consumer.committed).toEqual([]);
    first.end();
    await eventually(() => {
      expect(consumer.committed.at(-1)).toBe('5');
    });
  });
});

it('a batch is committed before the member joins again, which waits for it', async () => {
  const first = await handOver(0);
  const joined = consumer.join();
  await moment();
  expect(consumer.committed).toEqual([]);
  expect(first.context.isStale()).toBe(true);
  first.end();
  await joined;
  expect(consumer.committed).toEqual(['1']);
});

it('a commit that fails until the member joins again is not retried in its name', async () => {
  const first = await handOver(0);
  first.end();
  holdsCommits = true;
  await eventually(() => {
    expect(consumer.committed).toEqual(['1']);
  });
  let assign: () => void = () => undefined;
  const joined = consumer.join(new Promise((resolve) => (assign = resolve)));
  consumer.commits[0]?.answer(new Error('the broker is away'));
  await eventually(() => {
    expect(consumer.committed).toEqual(['1', '1']);
  });
  consumer.commits[1]?.answer(new Error('the group rebalances'));
  await moment();
  assign();
  await joined;
  await moment();
  expect(consumer.committed).toEqual(['1', '1']);
});

it('a failed batch makes the member wait no longer once it has joined again', async () => {
  (await handOver(0)).fail();
  await eventually(() => {
    expect(Object.keys(health.parts())).toHaveLength(2);
  });
  await consumer.join();
  expect(health.parts()).toEqual({ 'test-group': { status: 'ready' } });
});

it('a batch is finished and committed before a member that stops leaves', async () => {
  const first = await handOver(0);
  const stopped = batches.stop();
  await moment();
  expect([consumer.committed, consumer.hasLeft, first.context.isStale()]).toEqual([[], false, true]);
  first.end();
  await stopped;
  expect([consumer.committed, consumer.hasLeft]).toEqual([['1'], true]);
});

it('the next batch waits while those that are being finished hold too much memory', async () => {
  let finish: () => void = () => undefined;
  consumer.valueBytes = 4 * 1024 * 1024;
  (await handOver(0)).end({ kind: 'unfinished', rest: () => new Promise((resolve) => (finish = resolve)) });
  void consumer.handOver(1);
  await moment();
  expect(given).toHaveLength(1);
  finish();
  await eventually(() => {
    expect(given).toHaveLength(2);
  });
});
