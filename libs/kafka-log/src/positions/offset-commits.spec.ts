import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Consumer, TopicPartitionOffsetAndMetadata } from 'kafkajs';
import { createLogger } from '#libs/runtime';
import { OffsetCommits } from './offset-commits.js';

let requests: string[];
let fails: boolean;
/** Called while a request is under way. */
let whileCommitting: () => void;
let commits: OffsetCommits;

beforeEach(() => {
  jest.useFakeTimers();
  requests = [];
  fails = false;
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
    consumer: () => consumer,
    isStopping: () => false,
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
