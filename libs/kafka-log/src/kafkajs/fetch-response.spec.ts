import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { toStoredRecord } from '../records/record.js';
import { decodeFetch, type DecodeRecords, type FetchedMessage, type FetchResponse } from './fetch-response.js';
import { encodeProduce, type ProduceRequest } from './produce-request.js';
import { BATCH } from './record-batch-layout.js';

type Messages = ProduceRequest['topicData'][number]['partitions'][number]['messages'];

const NOW_MS = 1_750_000_000_123;
/** Where the batch begins in a Produce request for one partition of the topic `t`. */
const BATCH_AT = 12 + 3 + 4 + 8;
/** The flags are in the second byte of the attributes. */
const FLAGS_AT = BATCH.attributes + 1;
const APPEND_TIME = 0x08;

const byKafkajs = createRequire(import.meta.url)('kafkajs/src/protocol/requests/fetch/v11/response.js') as {
  decode(bytes: Buffer): Promise<FetchResponse>;
};

/** The first offset that is asked for of each partition. */
const FETCH_OFFSET = 5;
const unreadable: DecodeRecords = () => Promise.reject(new Error('no such magic'));

/** Decodes a response, without kafkajs by default. */
function decode(response: Buffer, decodeRecords: DecodeRecords = unreadable): Promise<FetchResponse> {
  return decodeFetch(response, decodeRecords, () => FETCH_OFFSET);
}

const MESSAGES: Messages = [
  { key: null, value: Buffer.from('{}') },
  { key: 'org', value: null },
  { key: '', value: Buffer.alloc(0) },
  { key: 'Grüße', value: 'λόγος', headers: { größe: 'ñandú 🦤', attempt: 'a|b', empty: '' } },
  { key: Buffer.from([0, 255, 128]), value: Buffer.alloc(8_192, 'b') },
];

function aBatch(baseOffset: number, messages: Messages = MESSAGES): Buffer {
  const topicData = [{ topic: 't', partitions: [{ partition: 0, messages }] }];
  const request = encodeProduce({ acks: -1, timeout: 0, topicData }, NOW_MS);
  const batch = Buffer.from(request?.subarray(BATCH_AT) ?? []);
  batch.writeBigInt64BE(BigInt(baseOffset));
  return batch;
}

function int(bytes: 2 | 4 | 8, value: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  if (bytes === 8) buffer.writeBigInt64BE(BigInt(value));
  else buffer.writeIntBE(value, 0, bytes);
  return buffer;
}

/** Of two topics; the second has nothing in it. */
function aResponse(records: Buffer, abortedTransactions = Buffer.alloc(0)): Buffer {
  const partition = (number: number, held: Buffer) => [
    int(4, number),
    int(2, number),
    ...[2 ** 40 + 7, 2 ** 33, 12].map((offset) => int(8, offset)),
    int(4, abortedTransactions.length / 16),
    abortedTransactions,
    int(4, -1),
    int(4, held.length),
    held,
  ];
  const topic = (name: string, partitions: Buffer[][]) => [
    int(2, Buffer.byteLength(name)),
    Buffer.from(name),
    int(4, partitions.length),
    ...partitions.flat(),
  ];
  return Buffer.concat([
    ...[int(4, 17), int(2, 0), int(4, 99), int(4, 2)],
    ...topic('größer', [partition(3, records), partition(0, Buffer.alloc(0))]),
    ...topic('none', []),
  ]);
}

/** What Gapless and kafkajs' consumer read of a message. */
function partOf({ attributes, timestamp, offset, key, value, headers }: FetchedMessage): FetchedMessage {
  return { attributes, timestamp, offset, key, value, headers: headers ?? {} };
}

function partsOf(response: FetchResponse): unknown {
  const responses = response.responses.map((topic) => ({
    ...topic,
    partitions: topic.partitions.map((partition) => ({ ...partition, messages: partition.messages.map(partOf) })),
  }));
  return { ...response, responses };
}

function withByte(batch: Buffer, at: number, byte: number): Buffer {
  const changed = Buffer.from(batch);
  changed[at] = byte;
  return changed;
}

/** The batch as a producer compresses it. @param records in place of its own */
function gzipped(batch: Buffer, records = batch.subarray(BATCH.records)): Buffer {
  const packed = Buffer.concat([withByte(batch, FLAGS_AT, 0x01).subarray(0, BATCH.records), gzipSync(records)]);
  packed.writeInt32BE(packed.length - 12, BATCH.length);
  return packed;
}

describe('a Fetch response', () => {
  it.each<[string, Buffer]>([
    ['with nothing in it', Buffer.alloc(0)],
    ['with one batch', aBatch(0)],
    ['with batches of many records', Buffer.concat([aBatch(70_000), aBatch(2 ** 40, Array(60).fill(MESSAGES).flat())])],
    ['whose last batch is cut off', Buffer.concat([aBatch(5), aBatch(10).subarray(0, -1)])],
    ['whose last batch is cut off in its head', Buffer.concat([aBatch(5), aBatch(10).subarray(0, 60)])],
    ['whose only batch is cut off', aBatch(5).subarray(0, 200)],
    ['stamped by the broker', withByte(aBatch(1), FLAGS_AT, APPEND_TIME)],
    ['whose records are later than its first', withByte(aBatch(1), BATCH.firstTimestamp + 7, 1)],
  ])('is read as kafkajs reads it: %s', async (_, records) => {
    const response = aResponse(records);
    const found = await decode(response);
    expect(partsOf(found)).toEqual(partsOf(await byKafkajs.decode(response)));
  });

  it('gathers what a header is given more than once', async () => {
    const batch = aBatch(0, [{ key: 'k', value: 'v', headers: { a1: '1', a2: '2', a3: '3' } }]);
    // All three are renamed to `aa`.
    for (const name of ['a1', 'a2', 'a3']) batch.write('aa', batch.indexOf(name));
    const response = aResponse(batch);
    const found = await decode(response);
    expect(found.responses[0]?.partitions[0]?.messages[0]?.headers).toEqual({
      aa: ['1', '2', '3'].map((text) => Buffer.from(text)),
    });
    expect(partsOf(found)).toEqual(partsOf(await byKafkajs.decode(response)));
  });

  it('leaves batches of an old magic to kafkajs', async () => {
    const given: Buffer[] = [];
    await decode(aResponse(withByte(aBatch(0), BATCH.magic, 1)), (sized) => {
      given.push(sized);
      return Promise.resolve([]);
    });
    // The batch after the count of its bytes.
    expect(given.map((sized) => sized.readInt32BE())).toEqual([aBatch(0).length]);
    expect(given[0]).toHaveLength(4 + aBatch(0).length);
  });

  it('reads what was compressed by gzip as kafkajs does', async () => {
    const response = aResponse(Buffer.concat([aBatch(5), gzipped(aBatch(10)), aBatch(15)]));
    const found = await decode(response);
    expect(found.responses[0]?.partitions[0]?.messages).toHaveLength(15);
    expect(partsOf(found)).toEqual(partsOf(await byKafkajs.decode(response)));
  });

  it('reads headers without a value, and names that every object has', async () => {
    const batch = aBatch(0, [{ key: 'k', value: 'v', headers: { a1: '1', constructor: '2', __proto_: '3' } }]);
    const headers = (await decode(aResponse(batch))).responses[0]?.partitions[0]?.messages[0]?.headers ?? {};
    expect(Object.entries(headers).map(([name, value]) => [name, String(value)])).toEqual([
      ['a1', '1'],
      ['constructor', '2'],
      ['__proto_', '3'],
    ]);
    // The length of the last value becomes that of none.
    const withNull = withByte(batch, batch.length - 2, 1).subarray(0, -1);
    withNull.writeInt32BE(withNull.length - 12, BATCH.length);
    withNull[BATCH.records] = batch[BATCH.records]! - 2;
    const [message] = (await decode(aResponse(withNull))).responses[0]!.partitions[0]!.messages;
    expect(message?.headers?.['__proto_']).toBeNull();
    expect(toStoredRecord('t', 0, message!).headers).toEqual({ a1: '1', constructor: '2' });
  });

  it('reads the first of many headers, and the records after them', async () => {
    const headers = Object.fromEntries(Array.from({ length: 5_000 }, (_, nth) => [`h${nth}`, 'v']));
    const found = await decode(aResponse(aBatch(5, [{ value: 'many', headers }, { value: 'next' }])));
    const [many, next] = found.responses[0]!.partitions[0]!.messages;
    expect(Object.keys(many?.headers ?? {})).toHaveLength(200);
    expect(String(next?.value)).toBe('next');
  });
});

describe('records of transactions', () => {
  const PRODUCER = 77n;
  const ABORTED = Buffer.concat([int(8, Number(PRODUCER)), int(8, 5)]);

  function ofProducer(batch: Buffer, flags: number, producerId = PRODUCER): Buffer {
    const changed = withByte(batch, FLAGS_AT, flags);
    changed.writeBigInt64BE(producerId, BATCH.producerId);
    return changed;
  }

  const marker = (offset: number, type: 0 | 1) =>
    ofProducer(aBatch(offset, [{ key: Buffer.from([0, 0, 0, type]), value: Buffer.alloc(6) }]), 0x30);

  async function shown(records: Buffer, aborted = Buffer.alloc(0)): Promise<readonly string[]> {
    const [partition] = (await decode(aResponse(records, aborted))).responses[0]!.partitions;
    expect(partition?.abortedTransactions).toEqual([]);
    return partition!.messages.filter((message) => message.isControlRecord !== true).map(({ offset }) => offset);
  }

  const one = (offset: number) => aBatch(offset, [{ key: 'k', value: 'v' }]);

  it('are read when it is committed, and the marker is left out', async () => {
    expect(await shown(Buffer.concat([ofProducer(one(5), 0x10), one(6), marker(7, 1)]))).toEqual(['5', '6']);
  });

  it('are left out up to the marker when it was aborted, and no others', async () => {
    const records = Buffer.concat([
      ofProducer(one(5), 0x10),
      one(6),
      ofProducer(one(7), 0x10, 78n),
      marker(8, 0),
      ofProducer(one(9), 0x10),
    ]);
    expect(await shown(records, ABORTED)).toEqual(['6', '7', '9']);
  });
});

describe('what cannot be read', () => {
  const packed = (flags: number) => (baseOffset: number) => withByte(aBatch(baseOffset), FLAGS_AT, flags);
  const bomb = (baseOffset: number) => gzipped(aBatch(baseOffset), Buffer.alloc(17 * 1024 * 1024));
  /** Its second record is longer than the batch. */
  const damaged = (baseOffset: number) => {
    const batch = aBatch(baseOffset);
    const lengthAt = BATCH.records + 1 + (batch[BATCH.records] ?? 0) / 2;
    return withByte(withByte(batch, lengthAt, 0xff), lengthAt + 1, 0x7f);
  };
  const ofTooMany = (baseOffset: number) => {
    const batch = aBatch(baseOffset);
    batch.writeInt32BE(2 ** 31 - 1, BATCH.recordCount);
    return batch;
  };
  const ofNoLength = (baseOffset: number) => {
    const batch = aBatch(baseOffset);
    batch.writeInt32BE(-200, 8);
    return batch;
  };

  async function messagesOf(...batches: readonly Buffer[]): Promise<readonly FetchedMessage[]> {
    const found = await decode(aResponse(Buffer.concat(batches)));
    const [partition, other] = found.responses[0]!.partitions;
    expect(other).toMatchObject({ partition: 0, messages: [] });
    return partition!.messages;
  }

  it.each<[string, (baseOffset: number) => Buffer, string]>([
    ['gzip that is damaged', packed(1), 'its compression is damaged'],
    ['snappy', packed(2), 'it is compressed by snappy; use gzip, or no compression'],
    ['lz4', packed(3), 'it is compressed by lz4; use gzip, or no compression'],
    ['zstd', packed(4), 'it is compressed by zstd; use gzip, or no compression'],
    ['an unknown compression', packed(5), 'it is compressed by compression 5; use gzip, or no compression'],
    ['a little gzip that unpacks to much', bomb, 'it has more than 16777216 bytes unpacked'],
    ['a damaged record', damaged, expect.stringContaining('damaged') as unknown as string],
    ['a count of records that it cannot hold', ofTooMany, 'the batch at offset 30 is damaged'],
    ['a magic of the future', (at) => withByte(aBatch(at), BATCH.magic, 3), 'its format 3 is unknown'],
  ])('concerns its partition alone, and has the last offset of its batch: %s', async (_, batchAt, reason) => {
    const batch = batchAt(30);
    const [found, ...others] = await messagesOf(batch);
    expect(others).toEqual([]);
    expect(found).toMatchObject({ offset: '34', unreadable: { reason, firstOffset: 30 } });
    expect(found?.unreadable?.bytes.equals(batch)).toBe(true);
  });

  it('is at the offset that was asked for when its length is damaged', async () => {
    expect(await messagesOf(ofNoLength(30))).toMatchObject([{ offset: '5', unreadable: { firstOffset: 5 } }]);
  });

  it('waits until what comes before it is read', async () => {
    const found = await messagesOf(aBatch(6), damaged(20), aBatch(30));
    expect(found.map(({ offset }) => offset)).toEqual(['6', '7', '8', '9', '10']);
    expect(found.some((message) => message.unreadable)).toBe(false);
  });

  it('does not wait for what comes before it and was not asked for', async () => {
    const found = await messagesOf(aBatch(0), packed(3)(20), damaged(30), aBatch(40));
    const wanted = found.filter(({ offset }) => Number(offset) >= FETCH_OFFSET);
    expect(wanted).toMatchObject([
      { offset: '24', unreadable: { firstOffset: 20 } },
      { offset: '34', unreadable: { firstOffset: 30 } },
    ]);
  });

  it('blocks nothing that comes after it, compressed or not', async () => {
    const found = await messagesOf(gzipped(aBatch(6)), aBatch(11), packed(3)(20));
    expect(found.map(({ offset }) => Number(offset))).toEqual([6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
  });
});
