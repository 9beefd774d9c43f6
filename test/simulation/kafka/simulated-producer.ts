import type {
  ICustomPartitioner,
  Message,
  Producer,
  ProducerBatch,
  ProducerConfig,
  ProducerRecord,
  RecordMetadata,
  TopicMessages,
} from 'kafkajs';
import type { VirtualTime } from '../engine/virtual-time.js';
import type { Broker, ProducedBatch } from './broker.js';
import { retried } from './retry.js';

/** As `KafkaConnection` has it. */
const REQUEST_TIMEOUT_MS = 3_000;

interface Group {
  readonly topic: string;
  readonly partition: number;
  readonly messages: Message[];
}

/** A producer of kafkajs, as far as it is used here. */
export function simulatedProducer(broker: Broker, time: VirtualTime, config: ProducerConfig = {}): Producer {
  const partitioner: ReturnType<ICustomPartitioner> | undefined = config.createPartitioner?.();
  const retry = config.idempotent === true ? { retries: 2 ** 31, ...config.retry } : { retries: 5, ...config.retry };
  const sequences = new Map<string, number>();
  let producerId: number | undefined;

  function placeOf(topic: string, message: Message): number {
    if (message.partition !== undefined) return message.partition;
    if (partitioner === undefined) throw new Error('a producer without a partitioner');
    const partitionMetadata = broker.partitionsOf(topic).map(({ partition }) => ({
      partitionErrorCode: 0,
      partitionId: partition,
      leader: 0,
      replicas: [0],
      isr: [0],
    }));
    return partitioner({ topic, partitionMetadata, message });
  }

  function grouped(topicMessages: readonly TopicMessages[]): readonly Group[] {
    const groups = new Map<string, Group>();
    for (const { topic, messages } of topicMessages) {
      for (const message of messages) {
        const partition = placeOf(topic, message);
        const group = groups.get(`${topic}/${partition}`);
        if (group === undefined) groups.set(`${topic}/${partition}`, { topic, partition, messages: [message] });
        else group.messages.push(message);
      }
    }
    return [...groups.values()];
  }

  async function sendBatch({ topicMessages = [] }: ProducerBatch): Promise<RecordMetadata[]> {
    const groups = grouped(topicMessages);
    if (groups.length === 0) return [];
    const name = `produce ${[...new Set(groups.map(({ topic }) => topic))].join(', ')}`;
    const bases = await retried(retry, () => {
      // Numbers move on when a batch is known to be there, so one that was given up leaves its number to the next.
      const batches = groups.map(({ topic, partition, messages }): ProducedBatch => ({
        topic,
        partition,
        messages,
        numbering:
          producerId === undefined ? undefined : { producerId, sequence: sequences.get(`${topic}/${partition}`) ?? 0 },
      }));
      const producerMs = time.wallMs;
      return broker.request<readonly number[]>(name, REQUEST_TIMEOUT_MS, (answer) => {
        answer.resolve(broker.produce(batches, producerMs));
      });
    });
    return groups.map(({ topic, partition, messages }, index) => {
      const place = `${topic}/${partition}`;
      if (producerId !== undefined) sequences.set(place, (sequences.get(place) ?? 0) + messages.length);
      return { topicName: topic, partition, errorCode: 0, baseOffset: String(bases[index] ?? -1) };
    });
  }

  const producer = {
    connect: () =>
      retried(retry, () =>
        broker.request<undefined>('connect producer', REQUEST_TIMEOUT_MS, (answer) => {
          if (config.idempotent === true) producerId ??= broker.newProducerId();
          answer.resolve(undefined);
        }),
      ),
    disconnect: () => Promise.resolve(),
    isIdempotent: () => config.idempotent === true,
    send: ({ topic, messages }: ProducerRecord) => sendBatch({ topicMessages: [{ topic, messages }] }),
    sendBatch,
  };
  return producer as unknown as Producer;
}
