import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  Kafka,
  logLevel,
  type ISocketFactory,
  type KafkaConfig,
  type ProducerConfig,
  type ProducerRecord,
} from 'kafkajs';
import { anOrgId } from '../../../../test/support/ids.js';
import { readTopic } from '../../../../test/support/log-reader.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { makePlainTopics } from '../../../../test/support/topics.js';
import { parseInboxValue } from '../../../event-validation/src/index.js';
import type { NewEvent } from '../events/new-event.js';
import { Producer } from '../events/producer.js';
import { KafkaSink } from './kafka-sink.js';

const PREFIX = `t${randomBytes(4).toString('hex')}`;
const TOPIC = `${PREFIX}.inbox.v1`;

function anEvent(orgId: string, n: number): NewEvent {
  return { event: 'ticket.updated', org_id: orgId.toUpperCase(), data: { n } };
}

describe('a producer to Kafka itself', () => {
  const brokers = process.env['TEST_KAFKA_BROKERS'] ?? '';
  const sinks: KafkaSink[] = [];

  beforeAll(async () => {
    const admin = aKafka().admin();
    await admin.connect();
    await makePlainTopics(admin, [{ topic: TOPIC, numPartitions: 3, replicationFactor: 1 }]);
    await admin.disconnect();
  });

  afterEach(() => Promise.all(sinks.splice(0).map((sink) => sink.close())));

  function aKafka(options: Partial<KafkaConfig> = {}): Kafka {
    return new Kafka({ clientId: 'test', brokers: brokers.split(','), logLevel: logLevel.NOTHING, ...options });
  }

  function aProducer(kafka = aKafka()): Producer {
    const sink = new KafkaSink({ kafka, topicPrefix: PREFIX, retries: 1 });
    sinks.push(sink);
    return new Producer(sink);
  }

  /** Returns the numbers of the organization's events in the order of the inbox. Each event is valid there. */
  async function numbers(orgId: string): Promise<readonly number[]> {
    const records = (await readTopic(brokers, TOPIC)).filter(({ key }) => key === orgId);
    return records.map(({ key, value }) => {
      const reading = parseInboxValue(value, Buffer.from(key), Date.now(), { hasTarget: false });
      if (!reading.ok) throw new Error(reading.detail);
      return (JSON.parse(reading.event.dataJson) as { n: number }).n;
    });
  }

  it('appends events that the inbox takes, each organization in order and in one partition', async () => {
    const orgs = [anOrgId(), anOrgId()];
    const producer = aProducer();
    const emitted = await Promise.all(oneTo(40).map((n) => producer.emit(orgs.map((orgId) => anEvent(orgId, n)))));
    expect(new Set(emitted.flat()).size).toBe(80);
    for (const orgId of orgs) {
      expect(await numbers(orgId)).toEqual(oneTo(40));
      const partitions = (await readTopic(brokers, TOPIC)).filter(({ key }) => key === orgId);
      expect(new Set(partitions.map(({ partition }) => partition)).size).toBe(1);
    }
  });

  it('goes on without a loss when the answer to an append gets lost', async () => {
    const orgId = anOrgId();
    const network = { losesAnswers: false };
    // Appends whose answers arrive have the same time, which is to be enough on a busy machine.
    const producer = aProducer(aKafka({ requestTimeout: 3_000, retry: { retries: 0 }, socketFactory: over(network) }));
    await producer.emit(anEvent(orgId, 1));
    network.losesAnswers = true;
    await expect(producer.emit(anEvent(orgId, 2))).rejects.toThrow();
    network.losesAnswers = false;
    await producer.emit(anEvent(orgId, 3));
    await producer.emit(anEvent(orgId, 4));
    expect(await numbers(orgId)).toEqual([1, 2, 3, 4]);
  });

  it('closes after the events under way, and takes none afterwards', async () => {
    const orgId = anOrgId();
    const producer = aProducer();
    const underWay = [1, 2].map((n) => producer.emit(anEvent(orgId, n)));
    await producer.close();
    await Promise.all(underWay);
    expect(await numbers(orgId)).toEqual([1, 2]);
    await expect(producer.emit(anEvent(orgId, 3))).rejects.toThrow('the KafkaSink is closed');
  });

  it('rejects when kafkajs resolves without an answer for one of the partitions', async () => {
    const orgId = anOrgId();
    const kafka = aKafka();
    const answers = { areWhole: false };
    const partial = Object.assign(aKafka(), {
      producer(config: ProducerConfig) {
        const whole = kafka.producer(config);
        return {
          ...whole,
          send: async (record: ProducerRecord) => (await whole.send(record)).slice(answers.areWhole ? 0 : 1),
        };
      },
    });
    const producer = aProducer(partial);
    await expect(producer.emit(anEvent(orgId, 1))).rejects.toThrow(/not acknowledged: partitions \d$/);
    answers.areWhole = true;
    await producer.emit(anEvent(orgId, 2));
    expect(await numbers(orgId)).toEqual([1, 2]);
  });
});

/** Sockets that break when an answer comes while answers get lost: what was asked for has been done. */
function over(network: { readonly losesAnswers: boolean }): ISocketFactory {
  return ({ host, port, onConnect }) => {
    const socket = connect(port, host, onConnect);
    const emit = socket.emit.bind(socket) as (...event: unknown[]) => boolean;
    socket.emit = (...event: unknown[]) => {
      if (event[0] !== 'data' || !network.losesAnswers) return emit(...event);
      socket.destroy();
      return true;
    };
    return socket;
  };
}
