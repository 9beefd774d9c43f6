import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createLogger } from '#libs/runtime';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { noteGroupsUsed } from '../../../../test/support/groups-used.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { followPartitions } from './follow-partitions.js';
import { KafkaConnection } from '../connection/kafka-connection.js';
import { PartitionWriter } from '../producing/partition-writer.js';

const require = createRequire(import.meta.url);
const { prototype: group } = require('kafkajs/src/consumer/consumerGroup.js') as {
  readonly prototype: { heartbeat(): Promise<void> };
};
const { createErrorFromCode } = require('kafkajs/src/protocol/error.js') as {
  createErrorFromCode: (code: number) => Error;
};
const NOT_COORDINATOR = 16;

const connection = new KafkaConnection({
  brokers: process.env['TEST_KAFKA_BROKERS']!.split(','),
  clientId: 'test',
  logger: createLogger('silent', 'test'),
});
const topic = `t${randomBytes(4).toString('hex')}.followed`;
let writer: PartitionWriter;

beforeAll(async () => {
  writer = new PartitionWriter(connection);
  await makeTopics(connection, [{ topic, partitions: 3, retentionMs: -1, compacted: false, appendTime: false }]);
  for (const partition of [0, 1, 2]) await write(partition, 5);
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await writer.close();
});

async function write(partition: number, count: number): Promise<void> {
  await writer.write(
    topic,
    partition,
    oneTo(count).map((n) => ({ key: null, value: Buffer.from(String(n)) })),
  );
}

/** Follows, and keeps what came as `<partition>/<offset>`. */
function follow(from: ReadonlyMap<number, number>, onEach: () => void = () => undefined) {
  const came: string[] = [];
  const stop = new AbortController();
  const ended = followPartitions(
    connection,
    topic,
    from,
    ({ partition, offset }) => {
      came.push(`${partition}/${offset}`);
      onEach();
    },
    stop.signal,
  );
  return {
    came,
    ended,
    stop: () => {
      stop.abort();
    },
  };
}

describe('followPartitions', () => {
  it('begins at the given offsets, reads the given partitions alone, and goes on as records come', async () => {
    const groups = noteGroupsUsed(connection);
    const { came, ended, stop } = follow(
      new Map([
        [0, 3],
        [2, 4],
      ]),
    );
    await eventually(() => {
      expect(came.toSorted()).toEqual(['0/3', '0/4', '2/4']);
    });
    await write(1, 1);
    await write(0, 2);
    await eventually(() => {
      expect(came.filter((place) => place.startsWith('0/'))).toEqual(['0/3', '0/4', '0/5', '0/6']);
    });
    stop();
    await ended;
    expect(came.some((place) => place.startsWith('1/'))).toBe(false);
    expect(await groups()).toEqual({ used: [expect.stringMatching(/^gapless-follower-/)], left: [] });
  });

  it('gives each record once, although its group moves to another broker', async () => {
    const heartbeat = jest.spyOn(group, 'heartbeat');
    const { came, ended, stop } = follow(new Map([[2, 0]]), () => {
      if (came.length === 1) heartbeat.mockRejectedValueOnce(createErrorFromCode(NOT_COORDINATOR));
    });
    await eventually(() => {
      expect(came).toHaveLength(5);
    });
    await write(2, 1);
    await eventually(() => {
      expect(came).toEqual(['2/0', '2/1', '2/2', '2/3', '2/4', '2/5']);
    });
    stop();
    await ended;
  });

  it('ends when it is aborted while it connects', async () => {
    const { kafka } = connection;
    const consumer = kafka.consumer.bind(kafka);
    jest.spyOn(kafka, 'consumer').mockImplementationOnce((config) => {
      stop();
      return consumer(config);
    });
    const { came, ended, stop } = follow(new Map([[0, 0]]));
    await ended;
    expect(came).toEqual([]);
  });

  it('ends with what its reader throws', async () => {
    const { ended } = follow(new Map([[1, 0]]), () => {
      throw new Error('enough');
    });
    await expect(ended).rejects.toThrow('enough');
  });

  it('does not wait for a partition that is not there', async () => {
    await expect(follow(new Map([[7, 0]])).ended).rejects.toThrow(`${topic} has no partition 7`);
  });
});
