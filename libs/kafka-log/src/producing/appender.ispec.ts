import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigResourceTypes } from 'kafkajs';
import { createLogger } from '#libs/runtime';
import { aPrivateKafka, type PrivateKafka } from '../../../../test/support/private-kafka.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { readTopic } from '../../../../test/support/log-reader.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { Appender } from './appender.js';
import { KafkaConnection } from '../connection/kafka-connection.js';

/** A request that Kafka is away for is answered in this time. */
const REJECTED_WITHIN_MS = 10_000;

let kafka: PrivateKafka;
let connection: KafkaConnection;
let appender: Appender;

beforeAll(async () => {
  kafka = await aPrivateKafka();
  connection = new KafkaConnection({
    brokers: [kafka.brokers],
    clientId: 'test',
    logger: createLogger('silent', 'test'),
  });
  // As every process of Gapless has it.
  appender = new Appender(connection, { retries: 4 });
  await appender.connect();
});

afterAll(async () => {
  await appender.close();
  await kafka.remove();
});

async function aTopic(partitions = 1): Promise<string> {
  const topic = `t${randomBytes(6).toString('hex')}`;
  await makeTopics(connection, [{ topic, partitions, retentionMs: -1, compacted: false, appendTime: false }]);
  return topic;
}

async function limitBatches(topic: string, bytes: number): Promise<void> {
  const configEntries = [{ name: 'max.message.bytes', value: String(bytes) }];
  const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }];
  await connection.withAdmin((admin) => admin.alterConfigs({ validateOnly: false, resources }));
}

function record(topic: string, value: string, key = 'key') {
  return { topic, key, value: Buffer.from(value) };
}

describe('the appender', () => {
  it('appends the records of calls that come at the same time in the order of the calls', async () => {
    const topic = await aTopic();
    const values = Array.from({ length: 300 }, (_, n) => String(n));
    await Promise.all(values.map((value) => appender.append([record(topic, value)])));
    const stored = await readTopic(kafka.brokers, topic);
    expect(stored.map(({ value }) => value.toString())).toEqual(values);
  });

  it('keeps what has the same key in one partition, and keys, bytes and headers as they are', async () => {
    const topic = await aTopic(6);
    const bytes = Buffer.from([0, 255, 10, 0]);
    await appender.append(
      ['a', 'b', 'c', 'a', 'b', 'c'].map((key) => ({ topic, key, value: bytes, headers: { seq: '1', text: 'ä' } })),
    );
    const stored = await readTopic(kafka.brokers, topic);
    expect(stored).toHaveLength(6);
    for (const one of stored) {
      expect(one.value.equals(bytes)).toBe(true);
      expect(one.headers).toEqual({ seq: '1', text: 'ä' });
      expect(stored.filter(({ key }) => key === one.key).every(({ partition }) => partition === one.partition)).toBe(
        true,
      );
    }
  });

  it('appends more to a partition than a broker takes at once, each record once and in order', async () => {
    const topic = await aTopic();
    const values = Array.from({ length: 80 }, (_, n) => Buffer.alloc(256 * 1024, n));
    await Promise.all([
      appender.append([record(topic, 'before')]),
      appender.append(values.map((value) => ({ topic, key: 'key', value }))),
      appender.append([record(topic, 'after')]),
    ]);
    const stored = await readTopic(kafka.brokers, topic);
    expect(stored.at(0)?.value.toString()).toBe('before');
    expect(stored.at(-1)?.value.toString()).toBe('after');
    expect(stored.slice(1, -1).map(({ value }) => value[0])).toEqual(values.map((value) => value[0]));
  });

  it('lets no share wait for what another one has waiting', async () => {
    const topic = await aTopic();
    let greedy = 0;
    const appends = Array.from({ length: 24 }, async (_, n) => {
      await appender.append([{ topic, key: 'key', value: Buffer.alloc(4 * 1024 * 1024, n) }], 'greedy');
      greedy++;
    });
    await appender.append([record(topic, 'modest')], 'modest');
    // Appends of the same turn of the event loop go after it.
    expect(greedy).toBeLessThanOrEqual(1);
    await Promise.all(appends);
    const values = (await readTopic(kafka.brokers, topic)).filter(({ value }) => value.length > 100);
    expect(values.map(({ value }) => value[0])).toEqual(Array.from({ length: 24 }, (_, n) => n));
  });

  it('refuses a record that no broker takes, appends nothing of its call, and goes on', async () => {
    const topic = await aTopic();
    const tooLarge = { topic, key: 'key', value: Buffer.alloc(8 * 1024 * 1024) };
    const refused = appender.append([record(topic, 'with it'), tooLarge]);
    await expect(refused).rejects.toThrow(`too large for ${topic}`);
    await appender.append([record(topic, 'kept')]);
    expect((await readTopic(kafka.brokers, topic)).map(({ value }) => value.toString())).toEqual(['kept']);
  });

  it('appends a record of nearly the largest size', async () => {
    const topic = await aTopic();
    await appender.append([{ topic, key: 'key', value: Buffer.alloc(8 * 1024 * 1024 - 65 * 1024) }]);
    expect(await readTopic(kafka.brokers, topic)).toHaveLength(1);
  });

  it('appends each record once when the broker stalls for longer than a request waits', async () => {
    const topic = await aTopic(4);
    const appended: string[] = [];
    let isOver = false;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let nth = 0; !isOver; nth++) {
        const values = Array.from({ length: 100 }, (__, n) => `${writer}/${nth}/${n}`);
        // One that fails may have written its records or not: on a busy machine, the broker is back too late for it.
        const [append] = await Promise.allSettled([
          appender.append(values.map((value) => record(topic, value, `key ${writer}`))),
        ]);
        if (append.status === 'fulfilled') appended.push(...values);
      }
    });
    // Longer than the 3 seconds after which a request is sent again.
    for (let nth = 0; nth < 2; nth++) await kafka.stall(3_500);
    isOver = true;
    await Promise.all(writers);
    const values = (await readTopic(kafka.brokers, topic)).map(({ value }) => value.toString());
    const stored = new Set(values);
    expect(values.length).toBe(stored.size);
    expect(appended.filter((value) => !stored.has(value))).toEqual([]);
  });

  it('never takes records for a repeat of others whose append has failed', async () => {
    const topic = await aTopic();
    await appender.append([record(topic, 'before')]);
    const doomed = new Appender(connection, { retries: 1 });
    await doomed.connect();
    await doomed.append([record(topic, 'first')]);
    await kafka.stallDuring(() => expect(doomed.append([record(topic, 'uncertain')])).rejects.toThrow());
    // The controller may have given the broker up while it was stalled: it takes a moment until it has a leader again.
    await eventually(() => doomed.append([record(topic, 'after')]));
    await doomed.close();
    const values = (await readTopic(kafka.brokers, topic)).map(({ value }) => value.toString());
    expect(values.filter((value) => value !== 'uncertain')).toEqual(['before', 'first', 'after']);
  });

  it('appends each record once to what takes it, in the same turn as to a partition that refuses it', async () => {
    const [topic, troubled] = [await aTopic(), await aTopic()];
    await limitBatches(troubled, 10);
    const doomed = new Appender(connection, { retries: 1 });
    await eventually(() => expect(doomed.append([record(troubled, 'early')])).rejects.toThrow('larger than'));
    await doomed.close();
    const one = new Appender(connection, { retries: 4 });
    const refused = Promise.allSettled([
      one.append([record(troubled, 'refused')]),
      one.append([record(troubled, 'refused'), record(topic, 'with it')]),
    ]);
    const values = Array.from({ length: 20 }, (_, n) => String(n));
    await one.append([record(topic, 'at once')]);
    for (const value of values) await one.append([record(topic, value)]);
    expect((await refused).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await limitBatches(troubled, 1_000_000);
    await eventually(() => one.append([record(troubled, 'back')]));
    await one.append([record(topic, 'last'), record(troubled, 'last')]);
    await one.close();
    const storedIn = async (name: string) =>
      (await readTopic(kafka.brokers, name)).map(({ value }) => value.toString());
    expect((await storedIn(topic)).toSorted()).toEqual(['at once', 'with it', 'last', ...values].toSorted());
    expect((await storedIn(troubled)).filter((value) => value !== 'early')).toEqual(['back', 'last']);
  });

  it('rejects when the topic does not exist, and then appends to one that does', async () => {
    const topic = await aTopic();
    await expect(appender.append([record(`${topic}-missing`, 'lost')])).rejects.toThrow();
    await appender.append([record(topic, 'kept')]);
    expect(await readTopic(kafka.brokers, topic)).toHaveLength(1);
  });

  it('rejects in time while the brokers are away, and works again when they are back', async () => {
    const topic = await aTopic();
    await appender.append([record(topic, 'before')]);
    await kafka.stop();
    for (let nth = 0; nth < 3; nth++) {
      const startedAt = performance.now();
      await expect(appender.append([record(topic, 'away')])).rejects.toThrow();
      expect(performance.now() - startedAt).toBeLessThan(REJECTED_WITHIN_MS);
    }
    await kafka.start();
    await eventually(() => appender.append([record(topic, 'behind')]));
    const values = (await readTopic(kafka.brokers, topic)).map(({ value }) => value.toString());
    expect(values.slice(0, 1)).toEqual(['before']);
    expect(values.at(-1)).toBe('behind');
  });
});
