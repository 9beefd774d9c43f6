import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { startEmbeddedKafkaCluster, type EmbeddedKafkaCluster } from '#libs/embedded-stack';
import { createLogger, HealthBoard } from '#libs/runtime';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { makePlainTopics } from '../../../../../test/support/topics.js';
import { KafkaConnection } from '../../connection/kafka-connection.js';
import { moveGroup } from '../../positions/move-group.js';
import { Appender } from '../../producing/appender.js';
import { PartitionWriter } from '../../producing/partition-writer.js';
import { hasLeader } from '../../reading/known-values.js';
import { LogPositions } from '../../reading/log-positions.js';
import { readPartitions } from '../../reading/read-partitions.js';
import { InstallationTopic } from '../../set-up/installation-topic.js';
import { BatchConsumer } from '../batch-consumer.js';

const TOPIC = 'written';
/** The partition whose only replica is on a node that is killed, and one on another node. */
const [LEADERLESS, LED] = [0, 1];
const [KILLED_NODE, OTHER_NODE] = [2, 1];
/** How soon a partition goes on once it has a leader: a partition that fails rests for at most 5 s. */
const SOON = { timeoutMs: 60_000 };

const logger = createLogger('silent', 'test');
const appenders: Appender[] = [];
const consumers: BatchConsumer[] = [];
let dataDir: string;
let cluster: EmbeddedKafkaCluster;
let connection: KafkaConnection;
let positions: LogPositions;
let writer: PartitionWriter;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-cluster-'));
  cluster = await startEmbeddedKafkaCluster({ dataDir, nodes: 3, log: () => undefined });
  connection = new KafkaConnection({ brokers: cluster.brokers.split(','), clientId: 'test', logger });
  positions = new LogPositions(connection);
  writer = new PartitionWriter(connection);
  const replicaAssignment = [
    { partition: LEADERLESS, replicas: [KILLED_NODE] },
    { partition: LED, replicas: [OTHER_NODE] },
  ];
  const configEntries = [{ name: 'min.insync.replicas', value: '1' }];
  await connection.withAdmin((admin) => makePlainTopics(admin, [{ topic: TOPIC, replicaAssignment, configEntries }]));
});

afterAll(async () => {
  await Promise.all([...appenders, ...consumers].map((used) => ('stop' in used ? used.stop() : used.close())));
  await writer.close();
  await Promise.all(cluster.nodes.map((node) => node.kill()));
  rmSync(dataDir, { recursive: true, force: true });
});

async function anAppender(): Promise<Appender> {
  const appender = new Appender(connection, { retries: 4 });
  appenders.push(appender);
  await appender.connect();
  return appender;
}

/** Starts a consumer group, and returns what it is given of each partition. */
async function aGroup(group: string): Promise<readonly (readonly string[])[]> {
  const seen: string[][] = [[], []];
  const options = {
    groupId: group,
    group,
    topics: [TOPIC],
    commits: 'after' as const,
    handle: ({ partition, records }: { partition: number; records: readonly { value: Buffer | null }[] }) => {
      seen[partition]?.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(undefined);
    },
    onSession: () => undefined,
  };
  const consumer = new BatchConsumer(connection, options, logger, new HealthBoard());
  consumers.push(consumer);
  await consumer.start();
  return seen;
}

function append(appender: Appender, partition: number, value: string): Promise<void> {
  return appender.append([{ topic: TOPIC, partition, key: null, value: Buffer.from(value) }]);
}

function write(partition: number, value: string): Promise<number> {
  return writer.write(TOPIC, partition, [{ key: null, value: Buffer.from(value) }]);
}

/** Reads the topic. Its leader is lost after the reader has looked where the topic ends, and before it reads. */
async function startReading(): Promise<{ readonly outcome: Promise<unknown> }> {
  const makeConsumer = connection.kafka.consumer.bind(connection.kafka);
  const made = jest.spyOn(connection.kafka, 'consumer').mockImplementationOnce((config) => {
    const consumer = makeConsumer(config);
    const connect = consumer.connect.bind(consumer);
    return Object.assign(consumer, { connect: () => untilLeaderless().then(connect) });
  });
  const stretches = [LEADERLESS, LED].map((partition) => ({ topic: TOPIC, partition, from: 0 }));
  const outcome = readPartitions(connection, stretches, () => undefined).catch((error: unknown) => error);
  await eventually(() => {
    expect(made).toHaveBeenCalled();
  });
  made.mockRestore();
  return { outcome };
}

async function untilLeaderless(): Promise<void> {
  await eventually(async () => {
    expect(hasLeader(await positions.bounds(TOPIC), LEADERLESS)).toBe(false);
  });
}

it('a partition without a leader stops no other one, and goes on once it has a leader', async () => {
  const early = await anAppender();
  for (const partition of [LEADERLESS, LED]) await append(early, partition, 'before');
  const first = await aGroup('first');
  await eventually(() => {
    expect(first).toEqual([['before'], ['before']]);
  });
  const reading = await startReading();
  const node = cluster.nodes.find(({ id }) => id === KILLED_NODE)!;
  await node.kill();
  await untilLeaderless();
  expect((await positions.bounds(TOPIC)).get(LED)).toEqual({ begin: 0, end: 1 });

  // Those that were there before, and those that come meanwhile.
  const late = await anAppender();
  const second = await aGroup('second');
  await eventually(() => append(early, LED, 'early'), SOON);
  await append(late, LED, 'late');
  await eventually(() => write(LED, 'writer'));
  await expect(append(late, LEADERLESS, 'refused')).rejects.toMatchObject({ type: 'LEADER_NOT_AVAILABLE' });
  await expect(write(LEADERLESS, 'refused')).rejects.toThrow(`${TOPIC}/${LEADERLESS} has no leader`);
  await Promise.all([append(late, LEADERLESS, 'refused').catch(() => undefined), append(late, LED, 'beside it')]);
  for (const seen of [first, second]) {
    await eventually(() => {
      for (const value of ['before', 'early', 'late', 'writer', 'beside it']) expect(seen[LED]).toContain(value);
    });
  }
  expect(second[LEADERLESS]).toEqual([]);
  expect(await reading.outcome).toMatchObject({ type: 'LEADER_NOT_AVAILABLE' });
  // kafkajs reports success for both.
  const record = { id: 'id', partitions: 1, createdAt: '2026-03-02T09:12:44.000Z' };
  await expect(new InstallationTopic(connection, TOPIC).announce(record)).rejects.toThrow('has no leader');
  const places = new Map([LEADERLESS, LED].map((partition) => [partition, 1]));
  await expect(moveGroup(connection, 'moved', TOPIC, places)).rejects.toThrow(`${TOPIC}/${LEADERLESS} has no leader`);
  await eventually(async () => {
    const { text } = await connection.metrics.scrape();
    for (const group of ['first', 'second']) {
      expect(text).toMatch(new RegExp(`gapless_partitions_failing\\{.*group="${group}".* 1\\n`));
    }
  });

  await node.start();
  await eventually(() => append(late, LEADERLESS, 'after'), SOON);
  await eventually(() => append(early, LEADERLESS, 'after'), SOON);
  await eventually(() => write(LEADERLESS, 'after'), SOON);
  for (const seen of [first, second]) {
    await eventually(() => {
      expect(seen[LEADERLESS]).toContain('before');
      expect(seen[LEADERLESS]!.filter((value) => value === 'after').length).toBeGreaterThanOrEqual(3);
    }, SOON);
  }
});
