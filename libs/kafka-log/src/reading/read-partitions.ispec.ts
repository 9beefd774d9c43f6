import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '#libs/runtime';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { noteGroupsUsed } from '../../../../test/support/groups-used.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { PartitionWriter } from '../producing/partition-writer.js';
import { readPartitions, streamPartitions, type PartitionStretch } from './read-partitions.js';
import type { StoredRecord } from '../records/record.js';

type Fetch = (this: unknown, wanted: { readonly maxBytes: number }) => Promise<unknown>;

const require = createRequire(import.meta.url);
const { prototype: broker } = require('kafkajs/src/broker/index.js') as { readonly prototype: { fetch: Fetch } };
const { prototype: group } = require('kafkajs/src/consumer/consumerGroup.js') as {
  readonly prototype: { heartbeat(): Promise<void> };
};
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};
const [NOT_LEADER, NOT_COORDINATOR] = [6, 16];

const connection = new KafkaConnection({
  brokers: process.env['TEST_KAFKA_BROKERS']!.split(','),
  clientId: 'test',
  logger: createLogger('silent', 'test'),
});

let writer: PartitionWriter;
let topic: string;
let other: string;

beforeAll(async () => {
  writer = new PartitionWriter(connection);
  await makeNewTopics();
  await write(topic, 0, 1);
  // A broker that has just started may still be loading what it knows of groups.
  await eventually(() => read({ topic, partition: 0, from: 0 }));
});

afterAll(async () => {
  await writer.close();
});

beforeEach(makeNewTopics);

afterEach(() => {
  jest.restoreAllMocks();
});

async function makeNewTopics(): Promise<void> {
  const prefix = `t${randomBytes(4).toString('hex')}`;
  [topic, other] = [`${prefix}.a`, `${prefix}.b`];
  const plan = { partitions: 3, retentionMs: -1, compacted: false, appendTime: false };
  await makeTopics(
    connection,
    [topic, other].map((name) => ({ topic: name, ...plan })),
  );
}

/** @returns the offset of the first of them */
async function write(to: string, partition: number, count: number): Promise<number> {
  const records = oneTo(count).map((n) => ({ key: null, value: Buffer.from(String(n)) }));
  return writer.write(to, partition, records);
}

async function read(...stretches: readonly PartitionStretch[]) {
  const records: StoredRecord[] = [];
  const ends = await readPartitions(connection, stretches, (record) => {
    records.push(record);
  });
  const values = records.map((record) => `${record.topic === topic ? 'a' : 'b'}${record.partition}/${record.offset}`);
  return { values, ends: Object.fromEntries(ends) };
}

/** Removes the first records of partition 0, as retention does. */
async function removeBefore(offset: number): Promise<void> {
  await connection.withAdmin(async (admin) => {
    // kafkajs deletes from topics only that it has met before.
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] });
  });
}

describe('writing to a partition', () => {
  it('returns the offset of the first record, and the others follow it without a gap', async () => {
    expect(await write(topic, 1, 3)).toBe(0);
    expect(await write(topic, 1, 2)).toBe(3);
    expect(await write(topic, 2, 1)).toBe(0);
    const { values } = await read({ topic, partition: 1, from: 0 });
    expect(values).toEqual(['a1/0', 'a1/1', 'a1/2', 'a1/3', 'a1/4']);
  });

  it('rejects for a topic that does not exist, and can go on with others', async () => {
    await expect(write(`${topic}-missing`, 0, 1)).rejects.toThrow();
    expect(await write(topic, 0, 1)).toBe(0);
  });
});

describe('reading stretches of partitions', () => {
  it('gives the records from the given offset to the end, of the given partitions alone', async () => {
    await write(topic, 0, 3);
    await write(topic, 1, 5);
    await write(topic, 2, 3);
    await write(other, 0, 2);
    const { values, ends } = await read({ topic, partition: 1, from: 3 }, { topic: other, partition: 0, from: 1 });
    expect(values.toSorted()).toEqual(['a1/3', 'a1/4', 'b0/1']);
    expect(ends).toEqual({ [`${topic}/1`]: 5, [`${other}/0`]: 2 });
  });

  it('gives each partition in the order of its offsets, however many batches it takes', async () => {
    for (let nth = 0; nth < 20; nth++) await write(topic, nth % 2, 50);
    const { values } = await read({ topic, partition: 0, from: 0 }, { topic, partition: 1, from: 0 });
    for (const partition of [0, 1]) {
      const offsets = values.filter((value) => value.startsWith(`a${partition}/`));
      expect(offsets).toEqual(oneTo(500).map((n) => `a${partition}/${n - 1}`));
    }
  });

  it('gives nothing of partitions that are empty, or read to their end already', async () => {
    await write(topic, 0, 2);
    const { values, ends } = await read({ topic, partition: 0, from: 2 }, { topic, partition: 1, from: 0 });
    expect(values).toEqual([]);
    expect(ends).toEqual({ [`${topic}/0`]: 2, [`${topic}/1`]: 0 });
  });

  it('begins at the first record that is still kept, if any is', async () => {
    await write(topic, 0, 5);
    await removeBefore(3);
    expect((await read({ topic, partition: 0, from: 1 })).values).toEqual(['a0/3', 'a0/4']);
    await removeBefore(5);
    expect(await read({ topic, partition: 0, from: 1 })).toEqual({ values: [], ends: { [`${topic}/0`]: 5 } });
  });

  it('leaves no consumer group behind', async () => {
    await write(topic, 0, 1);
    const groups = noteGroupsUsed(connection);
    await read({ topic, partition: 0, from: 0 });
    expect(await groups()).toEqual({ used: [expect.stringMatching(/^gapless-reader-/)], left: [] });
  });

  it('ends also where a transaction leaves nothing to read', async () => {
    const producer = connection.kafka.producer({ transactionalId: topic, transactionTimeout: 3_000 });
    await producer.connect();
    const committed = await producer.transaction();
    await committed.send({ topic, messages: [{ value: 'committed', partition: 0 }] });
    await committed.commit();
    const aborted = await producer.transaction();
    await aborted.send({ topic, messages: [{ value: 'aborted', partition: 1 }] });
    await aborted.abort();
    await producer.disconnect();
    // Each holds its record and a marker.
    const ends = { [`${topic}/0`]: 2, [`${topic}/1`]: 2 };
    await eventually(async () => {
      expect(await read({ topic, partition: 0, from: 0 }, { topic, partition: 1, from: 0 })).toEqual({
        values: ['a0/0'],
        ends,
      });
    });
    expect(await read({ topic, partition: 0, from: 1 }, { topic, partition: 1, from: 1 })).toEqual({
      values: [],
      ends,
    });
  });

  it('ends at the given offset, even before the end', async () => {
    await write(topic, 0, 5);
    expect(await read({ topic, partition: 0, from: 1, to: 3 })).toEqual({
      values: ['a0/1', 'a0/2'],
      ends: { [`${topic}/0`]: 3 },
    });
    expect((await read({ topic, partition: 0, from: 3, to: 9 })).ends).toEqual({ [`${topic}/0`]: 5 });
  });

  it('hands over no more than a thousand records at a time, the next once they are handled', async () => {
    for (let nth = 0; nth < 3; nth++) await write(topic, 0, 900);
    const sizes: number[] = [];
    let underWay = 0;
    await streamPartitions(connection, [{ topic, partition: 0, from: 0 }], async ({ records }) => {
      expect(++underWay).toBe(1);
      await new Promise(setImmediate);
      sizes.push(records.length);
      underWay--;
    });
    expect(sizes.reduce((sum, size) => sum + size)).toBe(2_700);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000);
  });

  it('gives each record once, although the leader of the partition changes', async () => {
    for (let nth = 0; nth < 6; nth++) await write(topic, nth % 2, 900);
    let fetches = 0;
    const { fetch } = broker;
    jest.spyOn(broker, 'fetch').mockImplementation(function (this: unknown, wanted) {
      // One batch each, so that the read is in the middle of a partition.
      if (++fetches !== 2) return fetch.call(this, { ...wanted, maxBytes: 1 });
      return Promise.reject(createErrorFromCode(NOT_LEADER));
    });
    const { values, ends } = await read({ topic, partition: 0, from: 100 }, { topic, partition: 1, from: 0 });
    expect(fetches).toBeGreaterThan(2);
    for (const [partition, from] of [100, 0].entries()) {
      const offsets = values.filter((value) => value.startsWith(`a${partition}/`));
      expect(offsets).toEqual(oneTo(2_700 - from).map((n) => `a${partition}/${from + n - 1}`));
    }
    expect(ends).toEqual({ [`${topic}/0`]: 2_700, [`${topic}/1`]: 2_700 });
  });

  it.each([1, 2, 3])('gives each record once, although its group moves after %d thousand records', async (nth) => {
    await write(topic, 0, 2_700);
    const offsets: number[] = [];
    let calls = 0;
    const heartbeat = jest.spyOn(group, 'heartbeat');
    await streamPartitions(connection, [{ topic, partition: 0, from: 0 }], ({ records }) => {
      offsets.push(...records.map(({ offset }) => offset));
      if (++calls === nth) heartbeat.mockRejectedValueOnce(createErrorFromCode(NOT_COORDINATOR));
      return Promise.resolve();
    });
    expect(offsets).toEqual(oneTo(2_700).map((n) => n - 1));
  });

  it('rejects with what the handling of records rejects with, and reads no further', async () => {
    await write(topic, 0, 5);
    let calls = 0;
    const reading = streamPartitions(connection, [{ topic, partition: 0, from: 0 }], () => {
      calls++;
      return Promise.reject(new Error('not to be handled'));
    });
    await expect(reading).rejects.toThrow('not to be handled');
    expect(calls).toBe(1);
  });

  it('rejects for a partition that does not exist', async () => {
    await expect(read({ topic, partition: 7, from: 0 })).rejects.toThrow(/has no partition 7/);
  });
});
