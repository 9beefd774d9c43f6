import { setTimeout as delay } from 'node:timers/promises';
import type { Clock, DueAttempt, RetrySchedule } from '#libs/domain';
import type { OverdueDeliveries } from '#libs/feed-store';
import {
  attemptRecord,
  hasReached,
  type Appender,
  type LogPositions,
  type Positions,
  type TopicNames,
} from '#libs/kafka-log';
import type { Metrics } from '#libs/metrics';
import type { Logger } from '#libs/runtime';

/** Attempts that are put back at a time; the next round finds the rest. */
const BATCH = 500;
/** How late a retry's record may be written after its attempt ended: Kafka may have been away. */
const WRITE_DELAY_MS = 60_000;
const LOOK_EVERY_MS = 500;

export interface ReconcilerOptions {
  /** How long an attempt must be overdue to be looked into. */
  readonly overdueMs: number;
  /** How long a round waits for the lanes to pass what they held at its beginning. */
  readonly patienceMs: number;
}

export interface ReconcilerDependencies {
  readonly overdue: OverdueDeliveries;
  readonly positions: LogPositions;
  readonly appender: Appender;
  readonly topics: TopicNames;
  /** Of the consumer groups of the lanes. */
  readonly groups: { readonly retry: string; readonly main: string; readonly slow: string };
  readonly schedule: RetrySchedule;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

function keyOf({ delivery, run, attempt }: DueAttempt): string {
  return `${delivery.deliveryId}/${run}/${attempt}`;
}

/**
 * Puts attempts back whose record is lost. An attempt that is long overdue may as well be waiting somewhere, so before
 * it is put back it is shown that it is not: whatever the retry tiers, then the main lane, then the slow lane, then the
 * facts held at the beginning has been passed, in this order in which an attempt goes through them, and the delivery is
 * still where it was.
 */
export class Reconciler {
  constructor(
    private readonly options: ReconcilerOptions,
    private readonly use: ReconcilerDependencies,
  ) {}

  /** @returns how many attempts were put back */
  async round(): Promise<number> {
    const before = new Date(this.use.clock.now() - this.options.overdueMs);
    const suspects = await this.use.overdue.find(before, BATCH);
    if (suspects.length === 0 || !(await this.#lanesPassed())) return 0;
    const still = new Set((await this.use.overdue.find(before, BATCH)).map(keyOf));
    const lost = suspects.filter((suspect) => still.has(keyOf(suspect)));
    await this.use.appender.append(lost.map((attempt) => attemptRecord(this.use.topics.attempts, attempt)));
    for (const { delivery, run, attempt, dueAtMs } of lost) {
      this.use.logger.warn(
        { delivery_id: delivery.deliveryId, endpoint_id: delivery.endpointId, run, attempt, due_at_ms: dueAtMs },
        'delivery.reconciled',
      );
    }
    this.use.metrics.add('gapless_attempts_reconciled_total', {}, lost.length);
    return lost.length;
  }

  async #lanesPassed(): Promise<boolean> {
    const { topics, groups, positions, overdue } = this.use;
    const deadline = this.use.clock.now() + this.options.patienceMs;
    const passed = async (ends: Positions, reached: () => Promise<Positions>) => {
      while (!hasReached(await reached(), ends)) {
        if (this.use.clock.now() > deadline) return false;
        await delay(LOOK_EVERY_MS, undefined, { signal: this.use.signal });
      }
      return true;
    };
    for (const [index, topic] of topics.retry.entries()) {
      const writtenBefore =
        this.use.clock.now() - (this.use.schedule[index] ?? 0) - this.options.overdueMs + WRITE_DELAY_MS;
      const ends = await positions.endsBefore(topic, Math.min(writtenBefore, this.use.clock.now()));
      if (!(await passed(ends, () => positions.committed(groups.retry, topic)))) return false;
    }
    const lanes = [
      { group: groups.main, topic: topics.attempts },
      { group: groups.slow, topic: topics.attemptsSlow },
    ];
    for (const { group, topic } of lanes) {
      const ends = await positions.ends(topic);
      if (!(await passed(ends, () => positions.committed(group, topic)))) return false;
    }
    const facts = await positions.ends(topics.deliveries);
    return passed(facts, () => overdue.projectedUpTo('deliveries', topics.deliveries));
  }
}
