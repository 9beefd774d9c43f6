import { afterEach, beforeEach, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { inboxValue, systemClock, type InboxEvent, type OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import { KafkaConnection, partitionOf } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { Producer } from '#libs/producer';
import { createLogger, type Environment } from '#libs/runtime';
import { tailCommand } from '../../apps/cli/src/commands/tail.command.js';
import { repairCommand } from '../../apps/cli/src/repair/repair.command.js';
import { verifyCommand } from '../../apps/cli/src/verify/verify.command.js';
import { KafkaSink } from '../../libs/producer/src/kafka/kafka-sink.js';
import { ApiClient } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { runCommand } from '../support/command.js';
import { PARTITIONS } from '../support/environment.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readTopic } from '../support/log-reader.js';
import { PACKINGS } from '../support/packings.js';
import { RawProducer } from '../support/raw-producer.js';
import { recordBatch } from '../support/record-batch.js';
import { oneTo } from '../support/sequence.js';

const GROWN = 6;

let gapless: GaplessUnderTest;
let app: GaplessApp;
let api: ApiClient;
let orgId: OrgId;
let connection: KafkaConnection;

beforeEach(async () => {
  gapless = await aGapless();
  connection = new KafkaConnection({
    brokers: [gapless.environment['KAFKA_BROKERS']!],
    clientId: 'test',
    logger: createLogger('silent', 'test'),
  });
  orgId = anOrgId();
  // One that producers which go by the topic would move.
  while (partitionOf(orgId, GROWN) < PARTITIONS) orgId = anOrgId();
  await start();
});

afterEach(async () => {
  await gapless.stop();
});

async function start(): Promise<void> {
  app = await gapless.startAll();
  api = new ApiClient(app.url, await anApiKey(app.app.get(Store), orgId));
}

function topic(role: string): string {
  return `${gapless.environment['TOPIC_PREFIX']!}.${role}.v1`;
}

async function feedOf(count: number): Promise<readonly string[]> {
  return eventually(async () => {
    const feed = await api.feed();
    expect(feed.map(({ seq }) => seq)).toEqual(oneTo(count));
    return feed.map(({ id }) => id);
  });
}

function someEvents(count: number, dataJson = '{}'): readonly InboxEvent[] {
  const occurredAt = new Date().toISOString();
  return oneTo(count).map(() => ({
    id: anEventId(),
    event: 'ticket.created',
    occurredAt,
    orgId,
    widgetId: null,
    dataJson,
  }));
}

/** With a stamp that only counts in the partition of the organization. */
async function produce(values: readonly Buffer[], partition: number): Promise<void> {
  const producer = connection.kafka.producer();
  await producer.connect();
  const written = await producer.send({
    topic: topic('inbox'),
    messages: values.map((value) => ({ key: orgId, value, partition, headers: { 'checked-to': '999999' } })),
  });
  await producer.disconnect();
  // kafkajs leaves out, without an error, what goes to a partition that the broker does not name yet.
  expect(written).toHaveLength(1);
}

/** As services do whose client goes by the partitions of the topic. */
async function produceMisplaced(count: number, dataJson = '{}'): Promise<readonly string[]> {
  const events = someEvents(count, dataJson);
  await produce(events.map(inboxValue), partitionOf(orgId, GROWN));
  return events.map(({ id }) => id);
}

async function expectApplied(environment: Environment = gapless.environment): Promise<void> {
  await eventually(async () => {
    const applied = await runCommand(repairCommand, environment, ['--apply']);
    expect([applied.failure, applied.lines.at(-1)]).toEqual([null, 'Done. Start all processes, then run verify.']);
  });
}

it('starts on an inbox that was altered to more partitions after a repair, which moves what producers wrote to the wrong partitions', async () => {
  await api.emit([{ event: 'ticket.created', data: {} }]);
  const [first] = await feedOf(1);
  await app.stop();
  await connection.withAdmin((admin) =>
    admin.createPartitions({ topicPartitions: [{ topic: topic('inbox'), count: GROWN }] }),
  );
  const misplaced = await eventually(() => produceMisplaced(3));

  await expect(gapless.startAll()).rejects.toThrow(/inbox\.v1 has 6 partitions.*gapless -- repair/);
  // As on a machine where nobody has said how many partitions there are: the installation knows.
  const unsaid = { ...gapless.environment, PARTITIONS: undefined };
  const dry = await runCommand(repairCommand, unsaid);
  expect(dry.lines).toEqual([
    `${topic('inbox')} has 6 partitions, more than the installation:`,
    '  3 records in surplus partitions go to the partitions that their keys belong to',
    '  processes start on it again; the surplus partitions stay unused',
    expect.stringMatching(/dry run.*--apply/),
  ]);
  // It shows how much of the log it has read.
  expect(dry.advanced).toBe(1);
  await expectApplied(unsaid);

  await start();
  expect(await feedOf(4)).toEqual([first, ...misplaced]);
  await api.emit([{ event: 'ticket.created', data: {} }]);
  await feedOf(5);
  const topicPrefix = gapless.environment['TOPIC_PREFIX']!;
  const producer = new Producer(new KafkaSink({ kafka: connection.kafka, topicPrefix, partitions: PARTITIONS }));
  await producer.emit({ event: 'ticket.created', org_id: orgId, data: {} });
  await producer.close();
  await feedOf(6);
  // A producer that goes on writing there is reported, and stops nobody.
  const [late] = await produceMisplaced(1);
  await eventually(async () => {
    const dead = await readTopic(gapless.environment['KAFKA_BROKERS']!, topic('dead-letter'));
    expect(dead.map(({ headers }) => headers['x-error-code'])).toEqual(['wrong_partition']);
    expect(String(dead[0]?.value)).toContain(late);
  });
  await eventually(async () => {
    expect((await fetch(`${app.url}/health/ready`)).status).toBe(200);
  });
  const { lines, failure } = await runCommand(verifyCommand, gapless.environment);
  expect([lines.at(-1), failure]).toEqual(['No differences.', null]);
  const again = await runCommand(repairCommand, gapless.environment);
  expect(again.lines).toEqual(['No topic went back. There is nothing to repair.']);
});

it('moves more than fits into one request', async () => {
  await app.stop();
  await connection.withAdmin((admin) =>
    admin.createPartitions({ topicPartitions: [{ topic: topic('inbox'), count: GROWN }] }),
  );
  const large = JSON.stringify({ text: 'x'.repeat(250_000) });
  const ids: string[] = [];
  for (let sent = 0; sent < 4; sent++) ids.push(...(await eventually(() => produceMisplaced(10, large))));
  await expectApplied();
  await start();
  expect(await feedOf(ids.length)).toEqual(ids);
});

it('does not move again what an interrupted repair has moved', async () => {
  await app.stop();
  await connection.withAdmin((admin) =>
    admin.createPartitions({ topicPartitions: [{ topic: topic('inbox'), count: GROWN }] }),
  );
  const events = someEvents(3);
  const values = events.map(inboxValue);
  await eventually(() => produce(values, partitionOf(orgId, GROWN)));
  await produce(values.slice(0, 2), partitionOf(orgId, PARTITIONS));
  await expectApplied();
  const inbox = await readTopic(gapless.environment['KAFKA_BROKERS']!, topic('inbox'));
  const moved = inbox.filter(({ partition }) => partition === partitionOf(orgId, PARTITIONS));
  expect(moved.map(({ value }) => String(value))).toEqual(values.map(String));
});

it('keeps the time of events that leave it to Kafka', async () => {
  await app.stop();
  await connection.withAdmin((admin) =>
    admin.createPartitions({ topicPartitions: [{ topic: topic('inbox'), count: GROWN }] }),
  );
  const [event] = someEvents(1);
  const value = Buffer.from(
    inboxValue(event!)
      .toString()
      .replace(/"occurred_at":"[^"]+",/, ''),
  );
  await eventually(() => produce([value], partitionOf(orgId, GROWN)));
  const [written] = await readTopic(gapless.environment['KAFKA_BROKERS']!, topic('inbox'));
  await expectApplied();
  await start();
  await feedOf(1);
  expect((await api.feed())[0]?.occurred_at).toBe(new Date(written!.timestampMs).toISOString());
});

it('moves what it can read, and leaves batches that nobody can, such as one with a codec that Gapless does not take', async () => {
  await app.stop();
  await connection.withAdmin(async (admin) => {
    await admin.createPartitions({ topicPartitions: [{ topic: topic('inbox'), count: GROWN }] });
    // Without a codec of the topic's own, the broker stores batches as they come.
    await admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name: topic('inbox'),
          configEntries: [
            { name: 'compression.type', value: 'producer' },
            { name: 'message.timestamp.type', value: 'LogAppendTime' },
          ],
        },
      ],
    });
  });
  const raw = await RawProducer.to(gapless.environment['KAFKA_BROKERS']!);
  const unreadable = recordBatch([{ key: Buffer.from(orgId), value: Buffer.from('{}') }], Date.now(), PACKINGS.lz4);
  const ids: string[] = [];
  for (let sent = 0; sent < 2; sent++) {
    ids.push(...(await eventually(() => produceMisplaced(1))));
    await eventually(async () => {
      expect(await raw.send(topic('inbox'), partitionOf(orgId, GROWN), unreadable)).toHaveProperty('offset');
    });
  }
  raw.close();
  await expectApplied();
  await start();
  expect(await feedOf(ids.length)).toEqual(ids);
});

it('prints every event of an organization after the log was altered to more partitions', async () => {
  await api.emit([{ event: 'ticket.created', data: {} }]);
  await api.emit([{ event: 'ticket.created', data: {} }]);
  await feedOf(2);
  await connection.withAdmin(async (admin) => {
    await admin.createPartitions({ topicPartitions: [{ topic: topic('log'), count: GROWN }] });
    await eventually(async () => {
      expect(await admin.fetchTopicOffsets(topic('log'))).toHaveLength(GROWN);
    });
  });
  const printed: { readonly org_id: string; readonly seq: number }[] = [];
  const command = tailCommand(
    {
      clock: systemClock,
      withStore: (act) => act(app.app.get(Store)),
      print: (line) => printed.push(JSON.parse(line) as (typeof printed)[number]),
      colours: 'never',
      isOutputTerminal: false,
      unread: new AbortController().signal,
      interruption: () => AbortSignal.abort(),
    },
    gapless.environment,
  );
  const args = ['--org', orgId, '--from', '1', '--no-follow', '--json'];
  await command.exitOverride().parseAsync(args, { from: 'user' });
  expect(printed.map(({ org_id: of, seq }) => [of, seq])).toEqual([
    [orgId, 1],
    [orgId, 2],
  ]);
});
