import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
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
const unreadable: DecodeRecords = () => Promise.reject(new Error('no such compression'));

/** Without kafkajs, unless told. */
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

describe('a Fetch response', () => {
  it.each<[string, Buffer]>([
    ['with nothing in it', Buffer.alloc(0)],
    ['with one batch', aBatch(0)],
    [
      'with batches of many records',
      Buffer.concat([aBatch(70_000), aBatch(2 ** 40, Array(300).fill(MESSAGES).flat())]),
    ],
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

  it.each<[string, Buffer]>([
    ['compressed', aResponse(withByte(aBatch(0), FLAGS_AT, 0x01))],
    ['of a transaction', aResponse(withByte(aBatch(0), FLAGS_AT, 0x10))],
    ['written by the broker', aResponse(withByte(aBatch(0), FLAGS_AT, 0x20))],
    ['of an old magic', aResponse(withByte(aBatch(0), BATCH.magic, 1))],
    ['in front of an aborted transaction', aResponse(aBatch(0), Buffer.alloc(16))],
  ])('is left to kafkajs where a batch is %s', async (_, response) => {
    const given: Buffer[] = [];
    const found = await decode(response, (sized) => {
      given.push(sized);
      return Promise.resolve([]);
    });
    // The records of the only partition that has any, behind the count of their bytes.
    expect(given.map((sized) => sized.readInt32BE())).toEqual([aBatch(0).length]);
    expect(given[0]).toHaveLength(4 + aBatch(0).length);
    expect(found.responses.map(({ partitions }) => partitions.map(({ messages }) => messages))).toEqual([[[], []], []]);
  });
});

describe('what cannot be read', () => {
  const compressed = (baseOffset: number) => withByte(aBatch(baseOffset), FLAGS_AT, 0x01);
  /** Its second record is longer than the batch. */
  const damaged = (baseOffset: number) => {
    const batch = aBatch(baseOffset);
    const lengthAt = BATCH.records + 1 + (batch[BATCH.records] ?? 0) / 2;
    return withByte(withByte(batch, lengthAt, 0xff), lengthAt + 1, 0x7f);
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

  it.each<[string, (baseOffset: number) => Buffer]>([
    ['compressed as nobody knows', compressed],
    ['damaged', damaged],
    ['of no length', ofNoLength],
  ])('concerns its partition alone, and stands where it begins: %s', async (_, batchAt) => {
    expect(await messagesOf(batchAt(30))).toMatchObject([{ offset: '30', unreadable: expect.any(Error) }]);
  });

  it('stands where it was asked for when the batch begins before that', async () => {
    expect(await messagesOf(compressed(3))).toMatchObject([{ offset: '5', unreadable: expect.any(Error) }]);
  });

  it('waits until what comes before it is read', async () => {
    const found = await messagesOf(aBatch(6), damaged(20));
    expect(found.map(({ offset }) => offset)).toEqual(['6', '7', '8', '9', '10']);
    expect(found.some((message) => message.unreadable)).toBe(false);
  });

  it('does not wait for what comes before it and was not asked for', async () => {
    expect(await messagesOf(aBatch(0), compressed(20))).toMatchObject([
      { offset: '20', unreadable: expect.any(Error) },
    ]);
  });
});
