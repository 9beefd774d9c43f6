import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { encodeProduce, type ProduceRequest } from './produce-request.js';

type Message = ProduceRequest['topicData'][number]['partitions'][number]['messages'][number];

const NOW_MS = 1_750_000_000_123;
const byKafkajs = createRequire(import.meta.url)('kafkajs/src/protocol/requests/produce/v7/request.js') as (
  request: ProduceRequest,
) => { encode(): Promise<{ readonly buffer: Buffer }> };

/** What kafkajs itself writes at `NOW_MS`. */
async function expected(request: ProduceRequest): Promise<string> {
  const { now } = Date;
  Date.now = () => NOW_MS;
  try {
    return (await byKafkajs(request).encode()).buffer.toString('hex');
  } finally {
    Date.now = now;
  }
}

function aRequest(...messages: Message[]): ProduceRequest {
  return { acks: -1, timeout: 3_000, topicData: [{ topic: 'gapless.log', partitions: [{ partition: 3, messages }] }] };
}

const MESSAGES: Readonly<Record<string, Message>> = {
  'a value alone': { key: null, value: Buffer.from('{}') },
  'no value': { key: 'org', value: null },
  'an empty value': { key: '', value: Buffer.alloc(0) },
  'keys and values beyond ASCII': { key: 'Grüße', value: 'λόγος', headers: { größe: 'ñandú 🦤' } },
  'a key of bytes': { key: Buffer.from([0, 255, 128]), value: Buffer.from('x') },
  headers: { key: 'k', value: Buffer.from('v'), headers: { attempt: 'a|b', empty: '', bytes: Buffer.from([1, 2]) } },
  'a value of 63 bytes': { key: 'k', value: Buffer.alloc(63, 'a') },
  'a value of 64 bytes': { key: 'k', value: Buffer.alloc(64, 'a') },
  'a value of 8,192 bytes': { key: 'k', value: Buffer.alloc(8_192, 'b') },
  'a value of 2 MiB': { key: 'k', value: Buffer.alloc(2 ** 21, 'c'), headers: { long: 'h'.repeat(300) } },
};

describe('a Produce request', () => {
  it.each(Object.keys(MESSAGES))('is written as kafkajs writes it: %s', async (name) => {
    const request = aRequest(MESSAGES[name]!);
    expect(encodeProduce(request, NOW_MS)?.toString('hex')).toBe(await expected(request));
  });

  it('is written as kafkajs writes it: many records, topics and partitions', async () => {
    const messages = Object.values(MESSAGES);
    const many = Array.from({ length: 200 }, (_, index) => messages[index % (messages.length - 1)]!);
    const request = {
      acks: 1,
      timeout: 30_000,
      topicData: [
        {
          topic: 'one',
          partitions: [
            { partition: 0, messages: many },
            { partition: 11, messages: messages.slice(0, 1) },
          ],
        },
        { topic: 'zwei.größer', partitions: [{ partition: 1, messages }] },
      ],
    };
    expect(encodeProduce(request, NOW_MS)?.toString('hex')).toBe(await expected(request));
  });

  it('is written as kafkajs writes it: of an idempotent producer', async () => {
    const messages = Object.values(MESSAGES);
    const partitions = [
      { partition: 0, messages, firstSequence: 2_147_483_000 },
      { partition: 5, messages, firstSequence: 0 },
    ];
    const request = { acks: -1, timeout: 3_000, producerId: '9007199254740993', producerEpoch: 3 };
    const whole = { ...request, topicData: [{ topic: 'gapless.inbox', partitions }] };
    expect(encodeProduce(whole, NOW_MS)?.toString('hex')).toBe(await expected(whole));
  });

  it.each<[string, ProduceRequest]>([
    ['compressed', { ...aRequest(), compression: 1 }],
    ['of a transaction', { ...aRequest(), transactionalId: 't' }],
    ['with a time of its own', aRequest({ value: 'v', timestamp: '1' })],
    ['with a list of headers', aRequest({ value: 'v', headers: { h: ['1', '2'] } })],
  ])('is left to kafkajs when it is %s', (_, request) => {
    expect(encodeProduce(request, NOW_MS)).toBeUndefined();
  });
});
