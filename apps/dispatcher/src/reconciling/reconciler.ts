import { setTimeout as delay } from 'node:timers/promises';
import { LaneShares, type Clock, type DeliveryId, type DueAttempt, type EndpointId } from '#libs/domain';
import type { OverdueAttempt, OverdueDeliveries } from '#libs/postgres';
import { attemptRecord, type Appender, type TopicNames } from '#libs/kafka-log';
import type { Metrics } from '#libs/telemetry';
import type { Logger } from '#libs/runtime';
import type { LaneProof } from '../lanes/lane-proof.js';

/** How long an attempt must be overdue to be examined. */
export const OVERDUE_MS = 300_000;
/**
 * How long an attempt is not put back again. While its endpoint cannot be read, it is still due, and each round would
 * write it to Kafka once more.
 */
const NOT_AGAIN_MS = 300_000;
/** Endpoints of one round. The next round continues after them. */
const ENDPOINTS = 1_000;
/** Attempts that a round examines, divided evenly among its endpoints … */
const SUSPECTS = 20_000;
/** … with at least this many for each endpoint. */
const LEAST_SHARE = 20;
/** Attempts that are read with their bytes and put back at a time. */
const BATCH = 500;
/** Bytes after which a batch ends. An envelope may have 256 KiB, and Postgres sends it as text of twice that. */
const BATCH_BYTES = 6 * 1024 * 1024;
/** With `BATCH`, at most 1,000 attempts a second, so that new attempts are not delayed. */
const BATCH_EVERY_MS = 500;
/** A round ends after this time. Meanwhile another process may have become the one that reconciles. */
const LONGEST_ROUND_MS = 30_000;

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
  /** Whether the next round should follow soon, because there may be more to do. */
  readonly isMore: boolean;
}

/**
 * Puts attempts back whose record is lost, or that a dispatcher left because it could not read their endpoint. An overdue
 * attempt may also just wait somewhere. So it is put back only if nothing waits for its endpoint, and its delivery has not
 * changed.
 */
export class Reconciler {
  #after: EndpointId | null = null;
  /** When the last attempt of a delivery was put back, monotonic milliseconds; the oldest comes first. */
  readonly #putBackAtMs = new Map<DeliveryId, number>();

  constructor(
    /** How long an attempt must be overdue to be examined. */
    private readonly overdueMs: number,
    private readonly use: ReconcilerDependencies,
  ) {}

  /** Examines some endpoints. The rounds cover all endpoints in turn. */
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
    const ids = endpoints.map(({ id }) => id);
    const suspects = await overdue.suspects(ids, before, share);
    const { clear, waiting, unknown } = await proof.of(endpoints, this.overdueMs);
    metrics.set('gapless_reconciler_endpoints_waiting', {}, waiting.length + unknown.length);
    if (unknown.length > 0) this.use.logger.warn({ endpoints: unknown.length }, 'reconciler.waiting');
    const isClear = new Set(clear);
    this.#forget();
    const putBack = await this.#putBack(
      suspects.filter(({ endpointId, deliveryId }) => isClear.has(endpointId) && !this.#putBackAtMs.has(deliveryId)),
    );
    return { putBack, isMore: putBack > 0 || next !== null };
  }

  async #putBack(suspects: readonly OverdueAttempt[]): Promise<number> {
    const { overdue, appender, topics, metrics, signal } = this.use;
    const shares = new LaneShares();
    const untilMs = performance.now() + LONGEST_ROUND_MS;
    let putBack = 0;
    for (let rest = suspects; rest.length > 0 && performance.now() < untilMs;) {
      if (rest !== suspects) await delay(BATCH_EVERY_MS, undefined, { signal });
      const { due: lost, later } = await overdue.stillDue(rest.slice(0, BATCH), BATCH_BYTES);
      rest = [...later, ...rest.slice(BATCH)];
      // Like the router, send attempts beyond a share of the main lane to the slow one.
      await appender.append(
        lost.map((attempt) => {
          const isMain = shares.take(attempt.delivery);
          return attemptRecord(isMain ? topics.attempts : topics.attemptsSlow, attempt);
        }),
      );
      for (const { delivery } of lost) this.#putBackAtMs.set(delivery.deliveryId, performance.now());
      metrics.add('gapless_attempts_reconciled_total', {}, lost.length);
      putBack += lost.length;
      this.#log(lost);
    }
    return putBack;
  }

  #forget(): void {
    const beforeMs = performance.now() - NOT_AGAIN_MS;
    for (const [deliveryId, atMs] of this.#putBackAtMs) {
      if (atMs > beforeMs) return;
      this.#putBackAtMs.delete(deliveryId);
    }
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
