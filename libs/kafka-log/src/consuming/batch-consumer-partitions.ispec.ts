import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger, HealthBoard } from '#libs/runtime';
import { membersOf } from '../../../../test/support/group-members.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { withLongSessions } from '../../../../test/support/long-sessions.js';
import { PACKINGS } from '../../../../test/support/packings.js';
import { RawProducer } from '../../../../test/support/raw-producer.js';
import { recordBatch } from '../../../../test/support/record-batch.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { Appender } from '../producing/appender.js';
import { BatchConsumer, type BatchConsumerOptions, type BatchContext } from './batch-consumer.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import type { RecordBatch } from '../records/record.js';

const brokers = process.env['TEST_KAFKA_BROKERS']!;
const logger = createLogger('silent', 'test');
/** In which something goes wrong. */
const TROUBLED = 2;
/** Beside it; all are led by the same broker. */
const QUIET = 1;

let connection: KafkaConnection;
let appender: Appender;
let topic: string;
let groupId: string;
let health: HealthBoard;
const consumers: BatchConsumer[] = [];
const releases: (() => void)[] = [];

beforeAll(async () => {
  connection = withLongSessions(new KafkaConnection({ brokers: brokers.split(','), clientId: 'test', logger }));
  appender = new Appender(connection, { retries: 3 });
  await appender.connect();
});

afterAll(async () => {
  await appender.close();
});

beforeEach(async () => {
  topic = `t${randomBytes(6).toString('hex')}`;
  groupId = `${topic}-group`;
  health = new HealthBoard();
  await makeTopics(connection, [{ topic, partitions: 3, retentionMs: -1, compacted: false, appendTime: false }]);
});

afterEach(async () => {
  for (const release of releases.splice(0)) release();
  await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
});

async function start(
  handle: BatchConsumerOptions['handle'],
  options: Partial<BatchConsumerOptions> = {},
): Promise<BatchConsumer> {
  const consumer = new BatchConsumer(
    connection,
    { groupId, group: 'test', topics: [topic], commits: 'after', handle, onSession: () => undefined, ...options },
    logger,
    health,
  );
  consumers.push(consumer);
  await consumer.start();
  return consumer;
}

async function append(partition: number, ...values: readonly string[]): Promise<void> {
  await appender.append(values.map((value) => ({ topic, partition, key: 'key', value: Buffer.from(value) })));
}

function valuesOf({ records }: RecordBatch): readonly string[] {
  return records.map(({ value }) => String(value));
}

/** Lasts until the test ends it, or ends. */
function aHang(): { readonly over: Promise<void>; readonly end: () => void } {
  let end: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  releases.push(end);
  return { over, end };
}

/**
 * Appends one after the other, and expects that each is handled, and most of them within a second: a machine may stand
 * still now and then, but what waits for a troubled partition waits for seconds each time.
 */
async function expectServed(partition: number, seen: readonly string[], values: readonly string[]): Promise<void> {
  const tookMs: number[] = [];
  for (const value of values) {
    await append(partition, value);
    const appendedAt = performance.now();
    await eventually(() => {
      expect(seen).toContain(value);
    });
    tookMs.push(performance.now() - appendedAt);
  }
  expect(tookMs.toSorted((one, other) => one - other)[Math.floor(tookMs.length / 2)]).toBeLessThan(1_000);
}

async function committedOffset(partition: number): Promise<number> {
  return connection.withAdmin(async (admin) => {
    const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
    return Number(found?.partitions.find((place) => place.partition === partition)?.offset ?? -1);
  });
}

/** Longer than a session lasts, and than the group waits for a member. */
const HANG_MS = 12_000;

const FEW = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

describe('a batch that fails', () => {
  it('blocks only its partition, which goes on with the same records once they can be handled', async () => {
    const quiet: string[] = [];
    const troubled: string[] = [];
    let isBroken = true;
    let failures = 0;
    await start((batch) => {
      if (batch.partition === QUIET) quiet.push(...valuesOf(batch));
      else if (isBroken) {
        failures++;
        return Promise.reject(new Error('unreadable'));
      } else troubled.push(...valuesOf(batch));
      return Promise.resolve(undefined);
    });
    await append(TROUBLED, '1', '2');
    // By then it waits for seconds from try to try.
    await eventually(() => {
      expect(failures).toBeGreaterThan(5);
    });
    await append(TROUBLED, '3');
    await expectServed(QUIET, quiet, FEW);
    expect(quiet).toEqual(FEW);
    expect(health.parts()).toMatchObject({
      [groupId]: { status: 'ready' },
      [`${groupId} ${topic}/${TROUBLED}`]: { status: 'waiting' },
    });
    expect(await committedOffset(TROUBLED)).toBe(-1);
    isBroken = false;
    await eventually(() => {
      expect(troubled).toEqual(['1', '2', '3']);
      expect(health.isReady).toBe(true);
    });
  });

  it('blocks only its partition when the client cannot read it', async () => {
    const quiet: string[] = [];
    const troubled: string[] = [];
    await start((batch) => {
      (batch.partition === QUIET ? quiet : troubled).push(...valuesOf(batch));
      return Promise.resolve(undefined);
    });
    await append(TROUBLED, '1', '2');
    const producer = await RawProducer.to(brokers);
    await producer.send(topic, TROUBLED, recordBatch([{ key: null, value: Buffer.from('3') }], 0, PACKINGS.lz4));
    producer.close();
    await append(TROUBLED, '4');
    const part = `${groupId} ${topic}/${TROUBLED}`;
    await eventually(() => {
      expect(JSON.stringify(health.parts()[part])).toContain(
        `the batch at offset 2 fails, and is tried again: the batch in ${topic}/${TROUBLED} at offset 2 cannot be read`,
      );
    });
    await expectServed(QUIET, quiet, FEW);
    expect(troubled).toEqual(['1', '2']);
  });
});

describe('a handler that is slow', () => {
  it('blocks only its partition', async () => {
    const quiet: string[] = [];
    const troubled: string[] = [];
    const hang = aHang();
    let context: BatchContext | undefined;
    await start(async (batch, given) => {
      if (batch.partition === QUIET) quiet.push(...valuesOf(batch));
      else {
        context = given;
        await hang.over;
        troubled.push(...valuesOf(batch));
      }
      return undefined;
    });
    await append(TROUBLED, '1');
    await eventually(() => {
      expect(context).toBeDefined();
    });
    const hangsSince = performance.now();
    for (let round = 0; performance.now() - hangsSince < HANG_MS; round++) {
      await append(TROUBLED, `later ${round}`);
      await expectServed(
        QUIET,
        quiet,
        FEW.map((name) => `${name} ${round}`),
      );
    }
    // Its session went on all the time. On a busy machine, a heartbeat may be late.
    expect(context!.isStale()).toBe(false);
    await eventually(() => {
      expect(context!.holdsLease()).toBe(true);
    });
    expect(troubled).toEqual([]);
    expect(await committedOffset(TROUBLED)).toBe(-1);
    hang.end();
    await eventually(async () => {
      expect(troubled[0]).toBe('1');
      expect(await committedOffset(TROUBLED)).toBe(troubled.length);
    });
  });

  it('is given the records of a partition in their order, each once, and one batch at a time', async () => {
    const seen: string[] = [];
    let running = 0;
    let most = 0;
    await start(async (batch) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 150));
      seen.push(...valuesOf(batch));
      running--;
      return undefined;
    });
    const values = Array.from({ length: 60 }, (_, index) => String(index));
    for (const value of values) {
      await append(TROUBLED, value);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await eventually(async () => {
      expect(await committedOffset(TROUBLED)).toBe(values.length);
    });
    expect(seen).toEqual(values);
    expect(most).toBe(1);
  });

  it('is given again only what it asks for, whatever was fetched meanwhile', async () => {
    const calls: (readonly string[])[] = [];
    const hang = aHang();
    await start(async (batch) => {
      calls.push(valuesOf(batch));
      if (calls.length > 1) return undefined;
      await hang.over;
      return { kind: 'later', nextOffset: 1, waitMs: 50 };
    });
    await append(TROUBLED, '1', '2');
    await eventually(() => {
      expect(calls).toHaveLength(1);
    });
    for (const value of ['3', '4', '5']) {
      await append(TROUBLED, value);
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    hang.end();
    await eventually(() => {
      expect(calls.slice(1).flat()).toEqual(['2', '3', '4', '5']);
    });
  });

  it('ends, and what it did is committed, before its partition is given to another member', async () => {
    const done: string[] = [];
    const took: string[] = [];
    let isHanging = false;
    await start(async (batch) => {
      isHanging = true;
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      done.push(...valuesOf(batch));
      return undefined;
    });
    for (const partition of [0, 1, 2]) await append(partition, `in ${partition}`);
    await eventually(() => {
      expect(isHanging).toBe(true);
    });
    await start((batch) => {
      took.push(...valuesOf(batch));
      return Promise.resolve(undefined);
    });
    expect(done.toSorted()).toEqual(['in 0', 'in 1', 'in 2']);
    for (const partition of [0, 1, 2]) await append(partition, `then ${partition}`);
    await eventually(() => {
      expect([...done, ...took]).toHaveLength(6);
    });
    expect([...done, ...took].filter((value) => value.startsWith('in'))).toHaveLength(3);
  });

  it('is not waited for without end when its partition is given to another member', async () => {
    const hang = aHang();
    let context: BatchContext | undefined;
    await start(async (_batch, given) => {
      context ??= given;
      await hang.over;
      return undefined;
    });
    await append(TROUBLED, '1');
    await eventually(() => {
      expect(context).toBeDefined();
    });
    await start(() => Promise.resolve(undefined));
    // If it were waited for, the group would go on without its member.
    expect(await membersOf(brokers, groupId)).toHaveLength(2);
    await eventually(() => {
      expect(context!.isStale()).toBe(true);
    });
    expect(context!.holdsLease()).toBe(false);
  });
});
