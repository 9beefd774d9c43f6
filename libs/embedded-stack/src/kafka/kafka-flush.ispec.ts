import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { makePlainTopics } from '../../../../test/support/topics.js';
import { startEmbeddedKafka, type EmbeddedKafka } from '../index.js';

const TIMEOUT_MS = 120_000;

let dataDir: string;
let broker: EmbeddedKafka;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'gapless-flush-'));
  broker = await startEmbeddedKafka({
    dataDir,
    port: 0,
    log: () => undefined,
  });
}, TIMEOUT_MS);

afterAll(async () => {
  await broker.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Up to where the broker knows each partition to be on the disk, by `topic partition`: what it starts from after a crash. */
function flushed(): ReadonlyMap<string, number> {
  const file = join(dataDir, 'kafka/records/recovery-point-offset-checkpoint');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(2) : [];
  return new Map(
    lines.filter(Boolean).map((line) => {
      const [topic, partition, offset] = line.split(' ');
      return [`${topic} ${partition}`, Number(offset)] as const;
    }),
  );
}

describe('the embedded broker', () => {
  it(
    'has records and offsets of groups on the disk soon, so that a power cut loses the last second at most',
    async () => {
      const kafka = new Kafka({ brokers: [broker.brokers], logLevel: logLevel.NOTHING });
      const admin = kafka.admin();
      await admin.connect();
      await makePlainTopics(admin, [{ topic: 'written', numPartitions: 1 }]);
      const producer = kafka.producer();
      await producer.connect();
      await producer.send({ topic: 'written', acks: -1, messages: [{ value: 'one' }, { value: 'two' }] });
      await producer.disconnect();
      await eventually(() =>
        admin.setOffsets({ groupId: 'a-group', topic: 'written', partitions: [{ partition: 0, offset: '1' }] }),
      );
      await admin.disconnect();
      // Written down every 5 s, and once a minute by a broker that flushes when it likes: at the roll of a segment.
      await eventually(
        () => {
          const places = flushed();
          expect(places.get('written 0')).toBe(2);
          const offsets = [...places].filter(([place]) => place.startsWith('__consumer_offsets '));
          expect(Math.max(...offsets.map(([, offset]) => offset))).toBeGreaterThan(0);
        },
        { timeoutMs: 45_000, intervalMs: 200 },
      );
    },
    TIMEOUT_MS,
  );
});
