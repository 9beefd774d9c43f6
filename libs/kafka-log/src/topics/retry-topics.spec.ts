import { describe, expect, it } from '@jest/globals';
import { formerRetryTopics, retryTopic, retryTopicDelayMs } from './retry-topics.js';
import { topicNames } from './topics.js';

describe('a retry topic', () => {
  it.each([
    [150, 'gapless.retry-150ms.v1'],
    [10_000, 'gapless.retry-10s.v1'],
    [90_000, 'gapless.retry-90s.v1'],
    [21_600_000, 'gapless.retry-6h.v1'],
    [86_400_000, 'gapless.retry-1d.v1'],
  ])('is named by its delay, which can be read from the name (%i ms)', (delayMs, topic) => {
    expect(retryTopic('gapless', delayMs)).toBe(topic);
    expect(retryTopicDelayMs(topic)).toBe(delayMs);
  });

  it('of an earlier version, named by its place in the schedule, does not show its delay', () => {
    expect(retryTopicDelayMs('gapless.retry-3.v1')).toBeUndefined();
    expect(retryTopicDelayMs('gapless.attempts.v1')).toBeUndefined();
  });
});

describe('formerRetryTopics', () => {
  it('finds the retry topics of the same prefix that the schedule does not name', () => {
    const names = topicNames('gapless', [10_000, 60_000]);
    const onBroker = [
      ...names.retry,
      names.attempts,
      names.log,
      'gapless.retry-8.v1',
      'gapless.retry-6h.v1',
      'other.retry-6h.v1',
      'gapless.retry-6h.v2',
      'gapless.retry-a.b.v1',
      'gapless.retry.retry-6h.v1',
      '__consumer_offsets',
    ];
    expect(formerRetryTopics(names, onBroker)).toEqual(['gapless.retry-6h.v1', 'gapless.retry-8.v1']);
  });
});
