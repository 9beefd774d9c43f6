import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Kafka, ProducerBatch, ProducerConfig } from 'kafkajs';
import { createLogger } from '#libs/runtime';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { Appender } from './appender.js';

const TOPIC = 'topic';
const NOT_ENOUGH_REPLICAS = 19;

let refusing: Set<number>;
let leaderless: Set<number>;
let stored: string[][];
/** Called before kafkajs repeats a request whose answer was lost; `null` if no answer is lost. */
let whenLost: (() => void) | null;
/** The partitions of each request. */
let requests: number[][];
let logged: string[];
let appender: Appender;

/** A producer of kafkajs whose partitions refuse records as the test sets it. */
function aProducer({ createPartitioner }: ProducerConfig) {
  const place = createPartitioner!();
  const send = ({ topicMessages = [] }: ProducerBatch) => {
    const partitionMetadata = stored.map((_, partitionId) => ({
      partitionErrorCode: 0,
      partitionId,
      leader: leaderless.has(partitionId) ? -1 : 0,
      replicas: [0],
      isr: [0],
    }));
    const places = new Set<number>();
    for (const { topic, messages } of topicMessages) {
      for (const message of messages) {
        const partition = place({ topic, partitionMetadata, message });
        if (leaderless.has(partition)) continue;
        places.add(partition);
        if (!refusing.has(partition)) stored[partition]?.push(String(message.value));
      }
    }
    requests.push([...places]);
    const errorCodeOf = (partition: number) => (refusing.has(partition) ? NOT_ENOUGH_REPLICAS : 0);
    return [...places].map((partition) => ({ topicName: TOPIC, partition, errorCode: errorCodeOf(partition) }));
  };
  return {
    connect: () => Promise.resolve(),
    disconnect: () => Promise.resolve(),
    sendBatch: (batch: ProducerBatch) => {
      const written = send(batch);
      if (whenLost === null) return Promise.resolve(written);
      whenLost();
      return Promise.resolve(send(batch));
    },
  };
}

beforeEach(() => {
  refusing = new Set([1]);
  leaderless = new Set();
  whenLost = null;
  stored = [[], [], []];
  requests = [];
  const kafka = { producer: aProducer } as unknown as Kafka;
  logged = [];
  const logger = createLogger('info', 'test', {
    write: (line) => logged.push((JSON.parse(line) as { msg: string }).msg),
  });
  appender = new Appender(new KafkaConnection({ brokers: [], clientId: 'test', logger, kafka }), { retries: 4 });
});

function append(...places: readonly (readonly [partition: number, value: string])[]): Promise<void> {
  return appender.append(
    places.map(([partition, value]) => ({ topic: TOPIC, key: null, partition, value: Buffer.from(value) })),
  );
}

it('appends to the other partitions of a request, once and at once, and rejects only what is refused', async () => {
  const refused = Promise.allSettled([append([1, 'refused']), append([0, 'b'], [1, 'refused'], [2, 'c'])]);
  await append([0, 'a']);
  expect(requests).toHaveLength(1);
  for (const result of await refused) {
    expect(result).toMatchObject({ status: 'rejected', reason: { type: 'NOT_ENOUGH_REPLICAS' } });
  }
  expect(stored.map((values) => values.toSorted())).toEqual([['a', 'b'], [], ['c']]);
});

it('appends in the order of the calls once the partition takes records, each once', async () => {
  const first = Promise.all([append([1, 'a']), append([1, 'b'], [0, 'other'])]);
  await delay(50);
  const later = append([1, 'c']);
  refusing.clear();
  await Promise.all([first, later]);
  await append([1, 'd']);
  expect(stored).toEqual([['other'], ['a', 'b', 'c', 'd'], []]);
});

it('sends what a partition refuses in requests of its own, also when another one refuses', async () => {
  refusing.add(2);
  const refused = Promise.allSettled([append([1, 'a']), append([2, 'b'])]);
  await delay(10);
  const waiting = append([1, 'c']);
  refusing.delete(1);
  await waiting;
  expect(stored).toEqual([[], ['a', 'c'], []]);
  await append([0, 'd']);
  expect((await refused).map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  refusing.clear();
  await append([2, 'e']);
  expect(stored).toEqual([['d'], ['a', 'c'], ['e']]);
  for (const places of requests.slice(1)) expect(places).toHaveLength(1);
  await appender.close();
});

it('rejects soon once a partition has refused for long', async () => {
  await expect(append([1, 'a'])).rejects.toThrow();
  const before = requests.length;
  await expect(append([1, 'b'])).rejects.toThrow();
  expect(requests).toHaveLength(before + 1);
  expect(stored).toEqual([[], [], []]);
});

it('keeps each partition that refuses apart when one append has records for two of them', async () => {
  refusing.add(2);
  await expect(append([2, 'a'])).rejects.toThrow();
  await expect(append([1, 'x'], [2, 'y'])).rejects.toMatchObject({ type: 'NOT_ENOUGH_REPLICAS' });
  expect(logged).toEqual(['partition.refuses_records', 'partition.refuses_records']);
  const before = requests.length;
  await expect(append([2, 'z'])).rejects.toThrow();
  expect(requests.slice(before)).toEqual([[2]]);
});

it('appends what others take before a partition takes the rest, in the order of the calls at each partition', async () => {
  const first = append([1, 'a']);
  await delay(10);
  let isSettled = false;
  const second = append([1, 'b'], [2, 'b']).finally(() => (isSettled = true));
  await append([2, 'c']);
  expect(stored).toEqual([[], [], ['b', 'c']]);
  expect(isSettled).toBe(false);
  refusing.clear();
  await Promise.all([first, second]);
  expect(stored).toEqual([[], ['a', 'b'], ['b', 'c']]);
});

describe('a partition without a leader', () => {
  beforeEach(() => {
    refusing.clear();
    leaderless.add(1);
  });

  it('is like one that refuses: the others go on at once, and it goes on once it has a leader', async () => {
    const refused = append([1, 'refused'], [0, 'a']).catch((error: unknown) => error);
    await append([0, 'b']);
    expect(requests).toEqual([[0]]);
    expect(stored).toEqual([['a', 'b'], [], []]);
    expect(await refused).toMatchObject({ type: 'LEADER_NOT_AVAILABLE' });
    const late = append([1, 'late']);
    leaderless.clear();
    await expect(late).resolves.toBeUndefined();
    expect(stored).toEqual([['a', 'b'], ['late'], []]);
    expect(logged).toEqual(['partition.refuses_records', 'partition.takes_records']);
  });

  it('does not count as refusing what a broker got before it lost its leader', async () => {
    leaderless.clear();
    whenLost = () => leaderless.add(1);
    await expect(append([1, 'uncertain'])).rejects.toMatchObject({ type: 'LEADER_NOT_AVAILABLE' });
    expect(requests).toEqual([[1]]);
    expect(stored[1]).toEqual(['uncertain']);
    expect(logged).toEqual([]);
  });
});
