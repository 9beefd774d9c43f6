import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Consumer, TopicPartitionOffsetAndMetadata } from 'kafkajs';
import { createLogger } from '#libs/runtime';
import { OffsetCommits } from './offset-commits.js';

let requests: string[];
let fails: boolean;
let isStopping: boolean;
/** Whether the consumer may commit now. */
let hasConsumer: boolean;
/** Called while a request is under way. */
let whileCommitting: () => void;
let commits: OffsetCommits;

beforeEach(() => {
  jest.useFakeTimers();
  requests = [];
  [fails, isStopping, hasConsumer] = [false, false, true];
  whileCommitting = () => undefined;
  const consumer = {
    commitOffsets: (places: readonly TopicPartitionOffsetAndMetadata[]) => {
      requests.push(places.map(({ partition, offset }) => `${partition}: ${offset}`).join(', '));
      whileCommitting();
      return fails ? Promise.reject(new Error('no answer')) : Promise.resolve();
    },
  } as unknown as Consumer;
  commits = new OffsetCommits({
    groupId: 'group',
    logger: createLogger('silent', 'test'),
    consumer: () => (hasConsumer ? consumer : null),
    isStopping: () => isStopping,
    metadataOf: () => null,
  });
});

afterEach(() => {
  jest.useRealTimers();
});

it('what is handled within a moment is committed together', async () => {
  commits.later('topic', 0, 3);
  commits.later('topic', 0, 4);
  commits.later('topic', 1, 7);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual(['0: 4, 1: 7']);
});

it('a commit without an answer is tried again, and repeated once it can no longer arrive late', async () => {
  fails = true;
  commits.later('topic', 0, 3);
  await jest.advanceTimersByTimeAsync(300);
  fails = false;
  commits.later('topic', 0, 4);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual(['0: 3', '0: 4', '0: 4']);
});

it('is not repeated after another assignment', async () => {
  fails = true;
  commits.later('topic', 0, 3);
  await jest.advanceTimersByTimeAsync(300);
  commits.forget();
  fails = false;
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual(['0: 3']);
});

it('what is handled while a commit is under way is committed by the next one', async () => {
  whileCommitting = () => {
    whileCommitting = () => undefined;
    commits.later('topic', 0, 4);
  };
  await commits.now('topic', 0, 3);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual(['0: 3', '0: 4']);
});

it('a repeated commit never takes the place of a newer offset', async () => {
  fails = true;
  commits.later('topic', 0, 3);
  await jest.advanceTimersByTimeAsync(300);
  fails = false;
  await jest.advanceTimersByTimeAsync(9_900);
  expect(requests).toEqual(['0: 3', '0: 3']);
  commits.later('topic', 0, 9);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests.slice(2)).toEqual(['0: 9']);
});

it('a commit that succeeded in the end is not repeated after another assignment either', async () => {
  fails = true;
  commits.later('topic', 0, 3);
  await jest.advanceTimersByTimeAsync(300);
  fails = false;
  await jest.advanceTimersByTimeAsync(1_000);
  commits.forget();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual(['0: 3', '0: 3']);
});

it('the last commit without an answer decides when one can no longer arrive late', async () => {
  const failsOnce = async (offset: number) => {
    fails = true;
    commits.later('topic', 0, offset);
    await jest.advanceTimersByTimeAsync(300);
    fails = false;
    await jest.advanceTimersByTimeAsync(300);
  };
  await failsOnce(3);
  await jest.advanceTimersByTimeAsync(9_000);
  await failsOnce(4);
  commits.later('topic', 0, 5);
  await jest.advanceTimersByTimeAsync(9_000);
  expect(requests.splice(0)).toEqual(['0: 3', '0: 3', '0: 4', '0: 4', '0: 5']);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual(['0: 5']);
});

it('a commit fails for good once the consumer stops', async () => {
  [fails, isStopping] = [true, true];
  await commits.now('topic', 0, 3);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual(['0: 3']);
});

it('a commit is not repeated once the consumer stops', async () => {
  fails = true;
  commits.later('topic', 0, 3);
  await jest.advanceTimersByTimeAsync(300);
  fails = false;
  await jest.advanceTimersByTimeAsync(300);
  isStopping = true;
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual(['0: 3', '0: 3']);
});

it('is not retried in the name of the assignment that came meanwhile', async () => {
  fails = true;
  whileCommitting = () => {
    hasConsumer = false;
  };
  await commits.now('topic', 0, 3);
  [fails, hasConsumer] = [false, true];
  await jest.advanceTimersByTimeAsync(60_000);
  expect(requests).toEqual(['0: 3']);
});
