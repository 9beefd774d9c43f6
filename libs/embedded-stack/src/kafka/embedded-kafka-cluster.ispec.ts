import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { startEmbeddedKafkaCluster, type EmbeddedKafkaCluster } from '../index.js';
import { kafkaAnswers } from '../kafka-protocol/kafka-probe.js';

const NODES = 3;
const topic = 'written';
const patience = { intervalMs: 200 };

let dataDir: string;
let cluster: EmbeddedKafkaCluster;
let kafka: Kafka;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-cluster-'));
  cluster = await startEmbeddedKafkaCluster({
    dataDir,
    nodes: NODES,
    log: () => undefined,
  });
  kafka = new Kafka({ brokers: cluster.brokers.split(','), logLevel: logLevel.NOTHING });
});

afterAll(async () => {
  // Quicker than an orderly stop, in which the nodes wait for each other.
  await Promise.all(cluster.nodes.map((node) => node.kill()));
  rmSync(dataDir, { recursive: true, force: true });
});

async function withAdmin<T>(act: (admin: ReturnType<Kafka['admin']>) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await act(admin);
  } finally {
    await admin.disconnect();
  }
}

async function inSync(): Promise<number> {
  const { topics } = await withAdmin((admin) => admin.fetchTopicMetadata({ topics: [topic] }));
  return topics[0]!.partitions[0]!.isr.length;
}

async function write(value: string): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic, acks: -1, messages: [{ value }] });
  await producer.disconnect();
}

// One story, in order.
describe('a cluster of three nodes', () => {
  it('keeps each record on all of them', async () => {
    // kafkajs asks for the leader at once, and fails if the node that it asks does not know the topic yet.
    await withAdmin((admin) =>
      admin.createTopics({ topics: [{ topic, numPartitions: 1, replicationFactor: -1 }], waitForLeaders: false }),
    );
    await eventually(async () => {
      expect(await inSync()).toBe(NODES);
    }, patience);
    await eventually(() => write('with all'), patience);
  });

  it('keeps their ports for them when a second one is started on its directory', async () => {
    const ports = () =>
      cluster.nodes.flatMap(({ id }) =>
        ['kafka.port', 'controller.port'].map((name) => readFileSync(join(dataDir, `kafka-${id}`, name), 'utf8')),
      );
    const before = ports();
    const second = startEmbeddedKafkaCluster({ dataDir, nodes: NODES, log: () => undefined });
    await expect(second).rejects.toThrow(`${dataDir} is in use by Gapless, process ${process.pid}.`);
    expect(ports()).toEqual(before);
  });

  it('takes writes while one of them is killed, and has it back on its port and with its records', async () => {
    const leader = await withAdmin(async (admin) => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      return topics[0]!.partitions[0]!.leader;
    });
    const node = cluster.nodes.find(({ id }) => id === leader)!;
    const port = Number(node.broker.split(':')[1]);
    await node.kill();
    expect(node.isRunning).toBe(false);
    expect(await kafkaAnswers(port, node.id)).toBe(false);
    await eventually(() => write('without one'), patience);
    await node.start();
    expect(node.isRunning).toBe(true);
    expect(await kafkaAnswers(port, node.id)).toBe(true);
    await eventually(async () => {
      expect(await inSync()).toBe(NODES);
    }, patience);
    const [end] = await withAdmin((admin) => admin.fetchTopicOffsets(topic));
    // A write whose answer was lost may have been made again.
    expect(Number(end!.high)).toBeGreaterThanOrEqual(2);
  });

  it('does not answer while it is paused', async () => {
    const [node] = cluster.nodes;
    const port = Number(node!.broker.split(':')[1]);
    node!.pause();
    try {
      // A busy machine stops the threads of a process one after the other.
      await eventually(async () => {
        expect(await kafkaAnswers(port, node!.id)).toBe(false);
      });
    } finally {
      node!.resume();
    }
    await eventually(async () => {
      expect(await kafkaAnswers(port, node!.id)).toBe(true);
    });
  });
});
