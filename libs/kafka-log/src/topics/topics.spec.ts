import { describe, expect, it } from '@jest/globals';
import { topicNames, topicPlans, topicRole, type TopicPlan } from './topics.js';

const DAY_MS = 86_400_000;
const SCHEDULE = [10_000, 60_000, 21_600_000];
const NAMES = topicNames('gapless', SCHEDULE);
const PLANS = topicPlans(NAMES, { partitions: 12, retentionMs: 30 * DAY_MS, retrySchedule: SCHEDULE });

function planOf(topic: string): TopicPlan {
  return PLANS.find((plan) => plan.topic === topic)!;
}

describe('topicNames', () => {
  it('has the prefix, the role and the version, and one retry topic per entry of the schedule', () => {
    expect(NAMES).toEqual({
      inbox: 'gapless.inbox.v1',
      log: 'gapless.log.v1',
      sequences: 'gapless.sequences.v1',
      attempts: 'gapless.attempts.v1',
      attemptsSlow: 'gapless.attempts-slow.v1',
      retry: ['gapless.retry-10s.v1', 'gapless.retry-1m.v1', 'gapless.retry-6h.v1'],
      deliveries: 'gapless.deliveries.v1',
      deadLetter: 'gapless.dead-letter.v1',
      staffAlerts: 'gapless.staff-alerts.v1',
      installation: 'gapless.installation.v1',
    });
  });
});

describe('topicRole', () => {
  it('is the name without prefix and version', () => {
    expect([NAMES.log, NAMES.deadLetter, NAMES.retry[2]!].map(topicRole)).toEqual(['log', 'dead-letter', 'retry-6h']);
  });
});

describe('topicPlans', () => {
  it('plans every topic once, with as many partitions as are set, but one for what holds a single record', () => {
    const { retry, ...others } = NAMES;
    expect(PLANS.map(({ topic }) => topic).sort()).toEqual([...Object.values(others), ...retry].sort());
    const counts = PLANS.filter(({ topic }) => topic !== NAMES.installation).map(({ partitions }) => partitions);
    expect(new Set(counts)).toEqual(new Set([12]));
    expect(planOf(NAMES.installation).partitions).toBe(1);
  });

  it('keeps the log and the facts longer than the feed shows events', () => {
    expect(planOf(NAMES.log).retentionMs).toBeGreaterThan(30 * DAY_MS);
    expect(planOf(NAMES.deliveries).retentionMs).toBeGreaterThan(30 * DAY_MS);
  });

  it('keeps each retry longer than it waits', () => {
    for (const [index, topic] of NAMES.retry.entries()) {
      expect(planOf(topic).retentionMs).toBeGreaterThan(SCHEDULE[index]! + DAY_MS);
    }
    const retrySchedule = [60 * DAY_MS, 1, 1];
    const names = topicNames('gapless', retrySchedule);
    const longest = topicPlans(names, { partitions: 1, retentionMs: DAY_MS, retrySchedule });
    expect(longest.find(({ topic }) => topic === names.retry[0])?.retentionMs).toBeGreaterThan(60 * DAY_MS);
    expect(longest.filter(({ topic }) => topic === 'gapless.retry-1ms.v1')).toHaveLength(1);
  });

  it('compacts the checkpoints and the identity alone, and keeps them for ever', () => {
    expect(PLANS.filter(({ compacted }) => compacted).map(({ topic }) => topic)).toEqual([
      NAMES.sequences,
      NAMES.installation,
    ]);
    expect(planOf(NAMES.sequences).retentionMs).toBe(-1);
    expect(planOf(NAMES.installation).retentionMs).toBe(-1);
    expect(PLANS.filter(({ smallSegments }) => smallSegments).map(({ topic }) => topic)).toEqual([NAMES.sequences]);
  });

  it('has the broker unpack the inbox and the log alone', () => {
    expect(PLANS.filter(({ unpacks }) => unpacks).map(({ topic }) => topic)).toEqual([NAMES.inbox, NAMES.log]);
  });

  it('has the broker stamp all records, and depends on it for the inbox and the log alone', () => {
    expect(PLANS.filter(({ appendTime }) => !appendTime)).toEqual([]);
    const dependent = PLANS.filter(({ takesCreateTime }) => takesCreateTime !== true);
    expect(dependent.map(({ topic }) => topic)).toEqual([NAMES.inbox, NAMES.log]);
  });
});
