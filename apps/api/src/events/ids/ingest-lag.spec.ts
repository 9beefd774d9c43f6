import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Admin } from 'kafkajs';
import { systemClock } from '#libs/domain';
import { topicNames, type KafkaConnection } from '#libs/kafka-log';
import type { Store } from '#libs/postgres';
import { createLogger, type Config } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { IngestLag } from './ingest-lag.js';

const TOPICS = topicNames('gapless', []);

let lag: IngestLag;
let hasLeader: boolean;
let looks: number;

beforeEach(() => {
  [hasLeader, looks] = [true, 0];
});

afterEach(() => lag.beforeApplicationShutdown());

/**
 * Starts with a log whose records are all in partition 0, and were appended in the last minute. None is in the feed.
 * @param others the other partitions, as kafkajs returns their offsets
 */
function start(logEnd: number, others: readonly { readonly partition: number }[] = []): void {
  const offsets = (end: number) => {
    const known = { partition: 0, offset: String(end), high: String(end), low: '0' };
    return Promise.resolve([hasLeader ? known : { partition: 0 }, ...others]);
  };
  const admin = {
    fetchTopicOffsets: (topic: string) => offsets(topic === TOPICS.log ? logEnd : 0),
    fetchTopicOffsetsByTimestamp: () => offsets(0),
    fetchOffsets: () => {
      looks++;
      return Promise.resolve([]);
    },
  } as unknown as Admin;
  const connection = {
    withAdmin: <T>(ask: (admin: Admin) => Promise<T>) => ask(admin),
    metrics: new Metrics(),
  } as unknown as KafkaConnection;
  const feed = {
    settled: () => Promise.resolve(),
    reachable: [{ store: { query: () => Promise.resolve([]) } }],
    isPartitionAway: () => false,
  };
  const config = { partitions: 1 + others.length, topicPrefix: 'gapless' } as Config;
  const logger = createLogger('silent', 'test');
  lag = new IngestLag(connection, { feed } as unknown as Store, TOPICS, config, systemClock, logger);
  lag.onApplicationBootstrap();
}

describe('ids of a partition whose log has just got many records', () => {
  it('cannot be checked if the feed lacks more of them than the sequencer reads back', async () => {
    start(600_000);
    await expect(lag.refuseIfLong([0])).rejects.toThrow('lacks more than 500,000 events');
  });

  it('cannot be checked then, also while the partition has no leader', async () => {
    start(600_000);
    await expect(lag.refuseIfLong([0])).rejects.toThrow('lacks more than 500,000 events');
    hasLeader = false;
    const before = looks;
    await eventually(() => {
      expect(looks).toBeGreaterThan(before + 1);
    });
    await expect(lag.refuseIfLong([0])).rejects.toThrow('lacks more than 500,000 events');
  });

  it('can be checked if the sequencer reads back all that the feed lacks', async () => {
    start(400_000);
    await expect(lag.refuseIfLong([0])).resolves.toBeUndefined();
  });

  it('can be checked while another partition has no leader', async () => {
    start(400_000, [{ partition: 1 }]);
    await expect(lag.refuseIfLong([0])).resolves.toBeUndefined();
  });
});
