import { setTimeout as delay } from 'node:timers/promises';
import { LaneShares, type Clock, type DueAttempt, type EndpointId } from '#libs/domain';
import type { OverdueAttempt, OverdueDeliveries } from '#libs/postgres';
import { attemptRecord, type Appender, type TopicNames } from '#libs/kafka-log';
import type { Metrics } from '#libs/telemetry';
import type { Logger } from '#libs/runtime';
import type { LaneProof } from './lane-proof.js';

/** Endpoints of one round. The next round continues after them. */
const ENDPOINTS = 1_000;
/** Attempts that a round looks into, shared evenly by its endpoints … */
const SUSPECTS = 20_000;
/** … each of which has at least this many. */
const LEAST_SHARE = 20;
/** Attempts that are read with their bytes and put back at a time. */
const BATCH = 500;
/** At most 1,000 attempts a second: what was lost comes beside what is new. */
const BATCH_EVERY_MS = 500;

export interface ReconcilerDependencies {
  readonly overdue: OverdueDeliveries;
  readonly proof: LaneProof;
  readonly appender: Appender;
  readonly topics: TopicNames;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

/** The result of a round. */
export interface Round {
  /** How many attempts were put back. */
  readonly putBack: number;
  /** Whether the next round may have more to do at once. */
  readonly isMore: boolean;
}

/**
 * Puts attempts back whose record is lost. An attempt that is long overdue may as well be waiting somewhere, so it is put
 * back once it is shown that nothing waits for its endpoint, and if its delivery is still where it was.
 */
export class Reconciler {
  #after: EndpointId | null = null;

  constructor(
    /** How long an attempt must be overdue to be looked into. */
    private readonly overdueMs: number,
    private readonly use: ReconcilerDependencies,
  ) {}

  /** Looks at some endpoints: after enough rounds, each has had its turn, whatever the others need. */
  async round(): Promise<Round> {
    const { overdue, proof, clock, metrics } = this.use;
    const before = new Date(clock.now() - this.overdueMs);
    const { endpoints, next } = await overdue.endpoints(before, this.#after, ENDPOINTS);
    this.#after = next;
    if (endpoints.length === 0) {
      metrics.set('gapless_reconciler_endpoints_waiting', {}, 0);
      return { putBack: 0, isMore: next !== null };
    }
    const share = Math.max(LEAST_SHARE, Math.floor(SUSPECTS / endpoints.length));
    const suspects = await overdue.suspects(endpoints, before, share);
    const { clear, waiting, unknown } = await proof.of(endpoints, this.overdueMs);
    metrics.set('gapless_reconciler_endpoints_waiting', {}, waiting.length + unknown.length);
    if (unknown.length > 0) this.use.logger.warn({ endpoints: unknown.length }, 'reconciler.waiting');
    const isClear = new Set(clear);
    const putBack = await this.#putBack(suspects.filter(({ endpointId }) => isClear.has(endpointId)));
    return { putBack, isMore: putBack > 0 || next !== null };
  }

  async #putBack(suspects: readonly OverdueAttempt[]): Promise<number> {
    const { overdue, appender, topics, metrics, signal } = this.use;
    const shares = new LaneShares();
    let putBack = 0;
    for (let from = 0; from < suspects.length; from += BATCH) {
      if (from > 0) await delay(BATCH_EVERY_MS, undefined, { signal });
      const lost = await overdue.stillDue(suspects.slice(from, from + BATCH));
      // As the router does it: what is beyond a share of the main lane goes to the slow one at once.
      await appender.append(
        lost.map((attempt) => {
          const isMain = shares.take(attempt.delivery);
          return attemptRecord(isMain ? topics.attempts : topics.attemptsSlow, attempt);
        }),
      );
      metrics.add('gapless_attempts_reconciled_total', {}, lost.length);
      putBack += lost.length;
      this.#log(lost);
    }
    return putBack;
  }

  #log(lost: readonly DueAttempt[]): void {
    for (const endpointId of new Set(lost.map(({ delivery }) => delivery.endpointId))) {
      const attempts = lost.filter(({ delivery }) => delivery.endpointId === endpointId);
      const dueAtMs = Math.min(...attempts.map((attempt) => attempt.dueAtMs));
      const deliveryId = attempts[0]?.delivery.deliveryId;
      this.use.logger.warn(
        { endpoint_id: endpointId, attempts: attempts.length, first_delivery_id: deliveryId, due_at_ms: dueAtMs },
        'delivery.reconciled',
      );
    }
  }
}
