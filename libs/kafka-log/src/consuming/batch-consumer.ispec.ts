import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import kafkajs from 'kafkajs';
import { createLogger, HealthBoard } from '#libs/runtime';
import { aPrivateKafka } from '../../../../test/support/private-kafka.js';
import { forgetMembers, membersOf } from '../../../../test/support/group-members.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { withLongSessions } from '../../../../test/support/long-sessions.js';
import { makeTopics } from '../../../../test/support/topics.js';
import { Appender } from '../producing/appender.js';
import { BatchConsumer, type BatchConsumerOptions, type BatchContext } from './batch-consumer.js';
import type { ConsumerSession } from './consumer-sessions.js';
import { KafkaConnection } from '../connection/kafka-connection.js';

const require = createRequire(import.meta.url);
const Broker = require('kafkajs/src/broker/index.js') as { readonly prototype: { syncGroup(): Promise<unknown> } };
const { KafkaJSRequestTimeoutError } = kafkajs;

const brokers = process.env['TEST_KAFKA_BROKERS']!;
const logger = createLogger('silent', 'test');

let connection: KafkaConnection;
let appender: Appender;
let topic: string;
let groupId: string;
let health: HealthBoard;
const consumers: BatchConsumer[] = [];
const sessions: (ConsumerSession | null)[] = [];

beforeAll(async () => {
  connection = withLongSessions(new KafkaConnection({ brokers: brokers.split(','), clientId: 'test', logger }));
  appender = new Appender(connection, { retries: 3 });
  await appender.connect();
});

afterAll(async () => {
  await appender.close();
});

beforeEach(async () => {
  topic = `t${randomBytes(6).toString('hex')}`;
  groupId = `${topic}-group`;
  health = new HealthBoard();
  await makeTopics(connection, [{ topic, partitions: 1, retentionMs: -1, compacted: false, appendTime: false }]);
});

afterEach(async () => {
  await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
  sessions.length = 0;
});

async function start(
  handle: BatchConsumerOptions['handle'],
  options: Partial<BatchConsumerOptions> = {},
): Promise<BatchConsumer> {
  const consumer = new BatchConsumer(
    connection,
    {
      groupId,
      group: 'test',
      topics: [topic],
      commits: 'after',
      handle,
      onSession: (session) => {
        sessions.push(session);
      },
      ...options,
    },
    logger,
    health,
  );
  consumers.push(consumer);
  await consumer.start();
  return consumer;
}

async function append(...values: readonly string[]): Promise<void> {
  await appender.append(values.map((value) => ({ topic, key: 'key', value: Buffer.from(value) })));
}

async function committedOffset(): Promise<number> {
  return connection.withAdmin(async (admin) => {
    const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
    return Number(found?.partitions[0]?.offset ?? -1);
  });
}

describe('a batch consumer', () => {
  it('hands over the records in their order, and the next member goes on after the handled ones', async () => {
    const seen: string[] = [];
    const handle: BatchConsumerOptions['handle'] = ({ records }) => {
      seen.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(undefined);
    };
    await append('a', 'b', 'c');
    const first = await start(handle);
    await eventually(() => {
      expect(seen).toEqual(['a', 'b', 'c']);
    });
    await first.stop();
    await append('d');
    await start(handle);
    await eventually(() => {
      expect(seen).toEqual(['a', 'b', 'c', 'd']);
    });
  });

  it('moves the offset past transactions that leave nothing to hand over', async () => {
    const seen: string[] = [];
    await append('a');
    await start(({ records }) => {
      seen.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(undefined);
    });
    const producer = connection.kafka.producer({ transactionalId: topic, transactionTimeout: 3_000 });
    await producer.connect();
    const committed = await producer.transaction();
    await committed.send({ topic, messages: [{ value: 'b' }] });
    await committed.commit();
    // Two records, followed by a marker.
    await eventually(async () => {
      expect([seen, await committedOffset()]).toEqual([['a', 'b'], 3]);
    });
    const aborted = await producer.transaction();
    await aborted.send({ topic, messages: [{ value: 'aborted' }] });
    await aborted.abort();
    await producer.disconnect();
    await eventually(async () => {
      expect([seen, await committedOffset()]).toEqual([['a', 'b'], 5]);
    });
  });

  it('does not move the offset past records that it has yet to handle', async () => {
    let fails = true;
    const seen: string[] = [];
    await append('a');
    await start(({ records }) => {
      if (fails) return Promise.reject(new Error('not yet'));
      seen.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(undefined);
    });
    const producer = connection.kafka.producer({ transactionalId: topic, transactionTimeout: 3_000 });
    await producer.connect();
    const aborted = await producer.transaction();
    await aborted.send({ topic, messages: [{ value: 'aborted' }] });
    await aborted.abort();
    await producer.disconnect();
    await delay(1_500);
    expect(await committedOffset()).toBe(-1);
    fails = false;
    await eventually(async () => {
      expect([seen, await committedOffset()]).toEqual([['a'], 3]);
    });
  });

  it('calls a handler that fails again with the same records, and moves the offset only when it succeeds', async () => {
    let calls = 0;
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const seen: string[] = [];
    await append('a');
    await start(async ({ records }) => {
      calls++;
      if (calls < 3) throw new Error('not yet');
      await released;
      seen.push(...records.map(({ value }) => String(value)));
      return undefined;
    });
    await eventually(() => {
      expect(calls).toBe(3);
    });
    expect(await committedOffset()).toBe(-1);
    release();
    await eventually(() => {
      expect(seen).toEqual(['a']);
    });
    await eventually(async () => {
      expect(await committedOffset()).toBe(1);
    });
  });

  it('goes on while a batch is being finished, and moves the offset past it only afterwards', async () => {
    const seen: string[] = [];
    let finish: (error?: Error) => void = () => undefined;
    let begun = 0;
    const rest = () =>
      new Promise<void>((resolve, reject) => {
        begun++;
        finish = (error) => {
          if (error === undefined) resolve();
          else reject(error);
        };
      });
    await append('unfinished');
    await start(({ records }) => {
      seen.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(seen.length === 1 ? { kind: 'unfinished', rest } : undefined);
    });
    await eventually(() => {
      expect(seen).toEqual(['unfinished']);
    });
    await append('later');
    await eventually(() => {
      expect(seen).toEqual(['unfinished', 'later']);
    });
    finish(new Error('not yet'));
    await eventually(() => {
      expect(begun).toBe(2);
    });
    expect(health.isReady).toBe(false);
    // Longer than a commit takes.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await committedOffset()).toBe(-1);
    finish();
    await eventually(async () => {
      expect([await committedOffset(), health.isReady]).toEqual([2, true]);
    });
    expect(seen).toEqual(['unfinished', 'later']);
  });

  it('hands over again what it did not finish before it stopped', async () => {
    const seen: string[] = [];
    await append('a');
    const first = await start(({ records }, context) => {
      seen.push(...records.map(({ value }) => String(value)));
      const rest = async () => {
        while (!context.isStale()) await new Promise((resolve) => setTimeout(resolve, 10));
        throw new Error('stale');
      };
      return Promise.resolve({ kind: 'unfinished', rest });
    });
    await eventually(() => {
      expect(seen).toEqual(['a']);
    });
    await first.stop();
    await start(({ records }) => {
      seen.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(undefined);
    });
    await eventually(async () => {
      expect([seen, await committedOffset()]).toEqual([['a', 'a'], 1]);
    });
  });

  it('is not ready as long as a batch cannot be handled', async () => {
    let isBroken = true;
    await append('a');
    await start(() => (isBroken ? Promise.reject(new Error('broken')) : Promise.resolve(undefined)));
    await eventually(() => {
      expect(health.isReady).toBe(false);
    });
    isBroken = false;
    await eventually(() => {
      expect(health.isReady).toBe(true);
    });
  });

  it('hands records over again from where the handler asks for it, not before the time', async () => {
    const calls: { readonly values: readonly string[]; readonly at: number }[] = [];
    await append('a', 'b', 'c');
    await start(({ records }) => {
      const values = records.map(({ value }) => String(value));
      calls.push({ values, at: performance.now() });
      const waiting = records.find(({ value }) => String(value) === 'b');
      if (waiting === undefined || calls.length > 1) return Promise.resolve(undefined);
      return Promise.resolve({ kind: 'later', nextOffset: waiting.offset, waitMs: 400 });
    });
    await eventually(() => {
      expect(calls.map(({ values }) => values)).toEqual([
        ['a', 'b', 'c'],
        ['b', 'c'],
      ]);
    });
    expect(calls[1]!.at - calls[0]!.at).toBeGreaterThanOrEqual(395);
    await eventually(async () => {
      expect(await committedOffset()).toBe(3);
    });
  });

  it('keeps its session while a handler takes longer than a heartbeat', async () => {
    let finish: (() => void) | undefined;
    await append('a');
    let context: BatchContext | undefined;
    await start(async (_batch, given) => {
      context = given;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return undefined;
    });
    await eventually(() => {
      expect(context?.holdsLease()).toBe(true);
    });
    const startedAt = performance.now();
    await eventually(() => {
      expect(performance.now() - startedAt).toBeGreaterThan(12_000);
    });
    // Longer than the session of a member that sends no heartbeats. On a busy machine, one of them may be late.
    await eventually(() => {
      expect(context!.holdsLease()).toBe(true);
    });
    expect(context!.isStale()).toBe(false);
    finish!();
    await eventually(async () => {
      expect(await committedOffset()).toBe(1);
    });
  });

  it('joins again when its group has forgotten it, and then hands over what was not handled', async () => {
    const seen: string[] = [];
    await start(({ records }) => {
      seen.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(undefined);
    });
    await forgetMembers(brokers, groupId);
    await append('a');
    await eventually(() => {
      expect(seen).toContain('a');
      expect(sessions.at(-1)?.generation).toBe(2);
    });
    expect(await membersOf(brokers, groupId)).toHaveLength(1);
  });

  it('joins again when its group has forgotten it in the middle of a batch that fails until then', async () => {
    const seen: string[] = [];
    let failures = 0;
    await start(({ records }, context) => {
      // As the sequencer does, whose writes need a lease.
      if (context.generation === 1) {
        failures++;
        return Promise.reject(new Error('the lease is not certain'));
      }
      seen.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(undefined);
    });
    await append('a');
    await eventually(() => {
      expect(failures).toBeGreaterThan(0);
    });
    await forgetMembers(brokers, groupId);
    await eventually(() => {
      expect(seen).toEqual(['a']);
    });
  });

  it('begins at the committed offset after a join whose answer was lost', async () => {
    const begins = new Map<number, number>();
    await start(
      ({ records }, context) => {
        if (!begins.has(context.generation)) begins.set(context.generation, records[0]?.offset ?? -1);
        return Promise.resolve(undefined);
      },
      // It commits nothing: what it was handed is still under way.
      { commits: 'handler' },
    );
    await append('a');
    await eventually(() => {
      expect([...begins.values()]).toEqual([0]);
    });
    const sync = jest.spyOn(Broker.prototype, 'syncGroup').mockImplementationOnce(async () => {
      await append('b');
      throw new KafkaJSRequestTimeoutError('the broker stood still');
    });
    try {
      await forgetMembers(brokers, groupId);
      await eventually(() => {
        expect(begins.size).toBeGreaterThan(1);
        expect(sync.mock.calls.length).toBeGreaterThan(1);
      });
      await append('c');
      expect([...begins.values()]).toEqual([0, 0]);
    } finally {
      sync.mockRestore();
    }
  });

  it('keeps its place in the group when the clock is set back', async () => {
    const seen: string[] = [];
    await start(({ records }) => {
      seen.push(...records.map(({ value }) => String(value)));
      return Promise.resolve(undefined);
    });
    const now = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() - 600_000);
    try {
      const setAt = performance.now();
      // Longer than a lease lasts without heartbeats.
      await eventually(() => {
        expect(performance.now() - setAt).toBeGreaterThan(6_500);
      });
      await append('a');
      await eventually(() => {
        expect(seen).toEqual(['a']);
        expect(sessions.at(-1)?.holdsLease()).toBe(true);
      });
    } finally {
      clock.mockRestore();
    }
  });

  it('lets a partition rest no longer than it should when the clock is set', async () => {
    const calls: string[][] = [];
    await append('a');
    await start(({ records }) => {
      calls.push(records.map(({ value }) => String(value)));
      // As a retry does that is due in ten minutes by a clock that is wrong.
      return Promise.resolve(calls.length === 1 ? { kind: 'later', nextOffset: 0, waitMs: 600_000 } : undefined);
    });
    await eventually(() => {
      expect(calls).toHaveLength(1);
    });
    const now = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + 600_000);
    try {
      await eventually(() => {
        expect(calls).toEqual([['a'], ['a']]);
      });
    } finally {
      clock.mockRestore();
    }
  });

  it('marks a batch as stale once another assignment has come', async () => {
    const contexts: BatchContext[] = [];
    await append('a');
    await start(async (_batch, context) => {
      contexts.push(context);
      if (contexts.length === 1) {
        await forgetMembers(brokers, groupId);
        await eventually(() => {
          expect(context.isStale()).toBe(true);
        });
      }
      return undefined;
    });
    await eventually(() => {
      expect(contexts.map(({ generation }) => generation)).toEqual([1, 2]);
    });
  });
});

describe('a consumer whose brokers go away', () => {
  it('takes it that a rest is ended while it is torn down', async () => {
    const kafka = await aPrivateKafka();
    try {
      connection = new KafkaConnection({ brokers: [kafka.brokers], clientId: 'test', logger });
      await makeTopics(connection, [{ topic, partitions: 1, retentionMs: -1, compacted: false, appendTime: false }]);
      let context: BatchContext | undefined;
      await start((_batch, given) => {
        context = given;
        return Promise.resolve({ kind: 'later', nextOffset: 0, waitMs: 60_000 });
      });
      const own = new Appender(connection, { retries: 3 });
      await own.connect();
      await own.append([{ topic, key: 'key', value: Buffer.from('a') }]);
      await own.close();
      await eventually(() => {
        expect(context).toBeDefined();
      });
      const thrown: unknown[] = [];
      const resuming = setInterval(() => {
        try {
          context!.resume(topic, 0);
        } catch (error) {
          thrown.push(error);
        }
      }, 1);
      try {
        await kafka.stop();
        await eventually(() => {
          expect(sessions.at(-1)).toBeNull();
        });
      } finally {
        clearInterval(resuming);
      }
      expect(thrown).toEqual([]);
    } finally {
      await Promise.all(consumers.splice(0).map((consumer) => consumer.stop()));
      await kafka.remove();
    }
  });
});
