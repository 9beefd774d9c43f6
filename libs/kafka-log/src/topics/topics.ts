import type { RetrySchedule } from '#libs/domain';
import { retryTopic } from './retry-topics.js';

/** The topics of `architecture.md` by their role. */
export interface TopicNames {
  readonly inbox: string;
  readonly log: string;
  readonly sequences: string;
  readonly attempts: string;
  readonly attemptsSlow: string;
  /**
   * One topic for each entry of the retry schedule, named by its delay: index n-1 is tier n. Tiers with the same delay
   * share a topic.
   */
  readonly retry: readonly string[];
  readonly deliveries: string;
  readonly deadLetter: string;
  readonly staffAlerts: string;
  /** Holds which installation the topics belong to. */
  readonly installation: string;
}

/** Returns the role of a topic, without prefix and version: `log`, `retry-10s`. */
export function topicRole(topic: string): string {
  return topic.slice(topic.indexOf('.') + 1).replace(/\.v\d+$/, '');
}

/** The required settings of a topic. */
export interface TopicPlan {
  readonly topic: string;
  readonly partitions: number;
  readonly retentionMs: number;
  readonly compacted: boolean;
  /** Whether a record's time is when the broker appended it, instead of when its producer made it. */
  readonly appendTime: boolean;
  /** Whether an existing topic also does if a record's time is when its producer made it. */
  readonly takesCreateTime?: boolean;
  /** Whether the broker unpacks records that producers have compressed. */
  readonly unpacks?: boolean;
  /** Whether segments are small, so that a compacted topic with little data drops old records soon. */
  readonly smallSegments?: boolean;
}

const DAY_MS = 86_400_000;
const WORK_RETENTION_MS = 7 * DAY_MS;
/** The log and the facts are kept for longer than the feed, so that the whole feed can be rebuilt. */
export const LOG_MARGIN_MS = 2 * DAY_MS;

/** The sequencer's consumer group, without the prefix. Its offsets show how much of the inbox is in the log. */
export const SEQUENCER_GROUP = 'sequencer';
export const ROUTER_GROUP = 'router';

export function topicNames(prefix: string, schedule: RetrySchedule): TopicNames {
  return {
    inbox: `${prefix}.inbox.v1`,
    log: `${prefix}.log.v1`,
    sequences: `${prefix}.sequences.v1`,
    attempts: `${prefix}.attempts.v1`,
    attemptsSlow: `${prefix}.attempts-slow.v1`,
    retry: schedule.map((delayMs) => retryTopic(prefix, delayMs)),
    deliveries: `${prefix}.deliveries.v1`,
    deadLetter: `${prefix}.dead-letter.v1`,
    staffAlerts: `${prefix}.staff-alerts.v1`,
    installation: `${prefix}.installation.v1`,
  };
}

export function topicPlans(
  names: TopicNames,
  settings: { readonly partitions: number; readonly retentionMs: number; readonly retrySchedule: RetrySchedule },
): readonly TopicPlan[] {
  const plan = (topic: string, retentionMs: number, special: Partial<TopicPlan> = {}): TopicPlan => ({
    topic,
    partitions: settings.partitions,
    retentionMs,
    compacted: false,
    // Brokers refuse a producer's time that is more than an hour ahead of their clock.
    appendTime: true,
    takesCreateTime: true,
    ...special,
  });
  return [
    // The sequencer's window of ids uses this time, which no producer can set.
    plan(names.inbox, WORK_RETENTION_MS, { takesCreateTime: false, unpacks: true }),
    // Retention of the feed uses the time of append, which only the broker sets the same way for all writers.
    // A batch that cannot be read would stop all of its readers.
    plan(names.log, settings.retentionMs + LOG_MARGIN_MS, { takesCreateTime: false, unpacks: true }),
    plan(names.sequences, -1, { compacted: true, smallSegments: true }),
    plan(names.attempts, WORK_RETENTION_MS),
    plan(names.attemptsSlow, WORK_RETENTION_MS),
    ...[...new Map(names.retry.map((topic, index) => [topic, settings.retrySchedule[index] ?? 0]))].map(
      ([topic, delayMs]) => plan(topic, WORK_RETENTION_MS + delayMs),
    ),
    plan(names.deliveries, settings.retentionMs + LOG_MARGIN_MS),
    plan(names.deadLetter, 30 * DAY_MS),
    plan(names.staffAlerts, WORK_RETENTION_MS),
    plan(names.installation, -1, { compacted: true, partitions: 1 }),
  ];
}
