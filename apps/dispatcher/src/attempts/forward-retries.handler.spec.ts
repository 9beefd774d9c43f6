import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { DueAttempt } from '#libs/domain';
import {
  attemptRecord,
  topicNames,
  waitsUntilMs,
  type Handled,
  type NewRecord,
  type StoredRecord,
} from '#libs/kafka-log';
import { aDueAttempt, attemptOf, storedAttempt } from '../../../../test/support/due-attempts.js';
import { FakeAppender } from '../../../../test/support/fake-appender.js';
import { aStageKit } from '../../../../test/support/stage-kit.js';
import { ForwardRetriesHandler } from './forward-retries.handler.js';

const NOW_MS = 1_750_000_000_000;
const topics = topicNames('gapless', [10_000, 60_000]);
const retryTopic = topics.retry[0]!;

let appender: FakeAppender;

function aHandler(): ForwardRetriesHandler {
  return new ForwardRetriesHandler(
    appender.asAppender,
    aStageKit({ nowMs: NOW_MS, topics, config: { retrySchedule: [10_000, 60_000] } }),
  );
}

beforeEach(() => {
  appender = new FakeAppender();
});

/** Hands over the retries that are due at these times, from offset 100 on. */
function handle(...dueAtMs: readonly number[]): Promise<Handled> {
  const records = dueAtMs.map((at, index) =>
    storedAttempt(aDueAttempt(index + 1, undefined, { attempt: 2, dueAtMs: at }), 100 + index, retryTopic),
  );
  const handler = aHandler();
  return handler.handle({ topic: retryTopic, partition: 0, records });
}

/** The headers of an attempt that waits in a topic for a part of its time. */
function hop(due: DueAttempt, waitUntilMs: number): Readonly<Record<string, string>> {
  return attemptRecord(retryTopic, due, waitUntilMs).headers as Readonly<Record<string, string>>;
}

function asStored({ headers }: NewRecord) {
  return { ...storedAttempt(aDueAttempt(), 0), headers: headers as Readonly<Record<string, string>> };
}

function forwarded(): readonly (number | undefined)[] {
  return appender.records.map((record) => attemptOf(record)?.delivery.seq);
}

describe('a batch of retries', () => {
  it('is handed over as a whole when all of them are due', async () => {
    expect(await handle(NOW_MS - 500, NOW_MS - 1, NOW_MS)).toBeUndefined();
    expect(forwarded()).toEqual([1, 2, 3]);
  });

  it('rests at the first that is not due yet, for just as long as that has to wait', async () => {
    expect(await handle(NOW_MS - 500, NOW_MS, NOW_MS + 1_234, NOW_MS + 2_000)).toEqual({
      kind: 'later',
      nextOffset: 102,
      waitMs: 1_234,
    });
    expect(forwarded()).toEqual([1, 2]);
  });

  it('hands nothing over while the first is not due', async () => {
    expect(await handle(NOW_MS + 1, NOW_MS + 2)).toEqual({ kind: 'later', nextOffset: 100, waitMs: 1 });
    expect(appender.records).toEqual([]);
  });

  it('passes one that has to wait longer on to the longest tier that fits, and never to the lane', async () => {
    const due = aDueAttempt(1, undefined, { attempt: 2, dueAtMs: NOW_MS + 75_000 });
    const record = { ...storedAttempt(due, 100, retryTopic), headers: hop(due, NOW_MS - 3) };
    await aHandler().handle({ topic: retryTopic, partition: 0, records: [record] });
    const [next] = appender.records;
    expect(next?.topic).toBe(topics.retry[1]);
    expect(attemptOf(next!)).toEqual(due);
    expect(waitsUntilMs(asStored(next!))).toBe(NOW_MS + 60_000);
  });

  it('never hands one over before an earlier one', async () => {
    // Clocks of two dispatchers may differ, so that a later record is due earlier.
    expect(await handle(NOW_MS + 700, NOW_MS - 1)).toMatchObject({ nextOffset: 100, waitMs: 700 });
    expect(appender.records).toEqual([]);
  });

  it('is handed over again when Kafka did not take it', async () => {
    appender.failures = 1;
    await expect(handle(NOW_MS)).rejects.toThrow('the brokers are away');
    expect(await handle(NOW_MS)).toBeUndefined();
    expect(forwarded()).toEqual([1]);
  });
});

describe('a dispatcher whose clock is ahead', () => {
  const AHEAD_MS = 600_000;
  let monotonicMs: number;
  beforeEach(() => {
    monotonicMs = 5_000;
    jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const from = (atMs: number, nth: number) =>
    storedAttempt(aDueAttempt(nth, undefined, { attempt: 2, dueAtMs: atMs + 10_000 }), 99 + nth, retryTopic);

  it('delays no retry by more than a second: they wait as long as their topic says', async () => {
    const handler = aHandler();
    const handOver = (...records: readonly StoredRecord[]) =>
      handler.handle({ topic: retryTopic, partition: 0, records });
    const [ahead, aheadToo] = [from(NOW_MS + AHEAD_MS, 1), from(NOW_MS + AHEAD_MS + 1, 2)];
    const [right, later] = [from(NOW_MS, 3), from(NOW_MS + AHEAD_MS, 4)];
    expect(await handOver(ahead, aheadToo, right)).toEqual({ kind: 'later', nextOffset: 100, waitMs: 11_000 });
    monotonicMs += 10_000;
    expect(await handOver(ahead, aheadToo, right, later)).toEqual({ kind: 'later', nextOffset: 100, waitMs: 1_000 });
    expect(forwarded()).toEqual([]);
    monotonicMs += 1_000;
    expect(await handOver(ahead, aheadToo, right, later)).toEqual({ kind: 'later', nextOffset: 103, waitMs: 11_000 });
    // They are due, and wait in no topic again.
    expect(forwarded()).toEqual([1, 2, 3]);
    expect(new Set(appender.records.map(({ topic }) => topic))).toEqual(new Set([topics.attempts]));
    monotonicMs += 11_000;
    expect(await handOver(later)).toBeUndefined();
    expect(forwarded()).toEqual([1, 2, 3, 4]);
  });

  it('delays none of other partitions', async () => {
    const handler = aHandler();
    await handler.handle({ topic: retryTopic, partition: 0, records: [from(NOW_MS + AHEAD_MS, 1)] });
    monotonicMs += 60_000;
    const other = { topic: retryTopic, partition: 1, records: [from(NOW_MS, 1)] };
    expect(await handler.handle(other)).toEqual({ kind: 'later', nextOffset: 100, waitMs: 10_000 });
  });
});

describe('a retry that is due', () => {
  it('becomes a due attempt that is the same in key, bytes and headers', async () => {
    const due = aDueAttempt(7, undefined, { run: 2, attempt: 3, dueAtMs: NOW_MS, traceparent: '00-trace-span-01' });
    const record = storedAttempt(due, 0, retryTopic);
    await aHandler().handle({
      topic: retryTopic,
      partition: 0,
      records: [record],
    });
    const { key, value, headers } = record;
    expect(appender.records).toEqual([{ topic: topics.attempts, key, value, headers }]);
  });
});

describe('a record among the retries that is none', () => {
  it('goes to the dead letters, whatever it holds, and those beside it are handed over', async () => {
    const retry = storedAttempt(aDueAttempt(7, undefined, { attempt: 3, dueAtMs: NOW_MS }), 1, retryTopic);
    const strange = { ...retry, headers: { attempt: '[]' }, offset: 0 };
    await aHandler().handle({ topic: retryTopic, partition: 0, records: [strange, retry] });
    expect(appender.records.map(({ topic }) => topic)).toEqual([topics.deadLetter, topics.attempts]);
  });

  it('keeps the others waiting no longer than the topic holds records, whatever it says', async () => {
    const appendedAtMs = NOW_MS - 70_000;
    const retry = storedAttempt(aDueAttempt(7, undefined, { attempt: 3, dueAtMs: NOW_MS }), 1, retryTopic);
    const header = JSON.stringify([...Array<null>(8).fill(null), 8e15]);
    const strange = { ...retry, headers: { attempt: header }, offset: 0, timestampMs: appendedAtMs };
    const handed = (record: typeof strange) =>
      aHandler().handle({ topic: retryTopic, partition: 0, records: [record, retry] });
    expect(await handed({ ...strange, timestampMs: appendedAtMs + 1 })).toMatchObject({ nextOffset: 0, waitMs: 1 });
    expect(await handed(strange)).toBeUndefined();
    expect(appender.records.map(({ topic }) => topic)).toEqual([topics.deadLetter, topics.attempts]);
  });
});
