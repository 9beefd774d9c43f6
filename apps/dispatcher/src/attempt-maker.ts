import {
  attemptLeadMs,
  decideAfterAttempt,
  errorText,
  type AttemptOutcome,
  type Clock,
  type DeliveryFact,
  type DueAttempt,
  type RetrySchedule,
} from '#libs/domain';
import type { DispatchTarget } from '#libs/postgres';
import { attemptRecord, factRecord, type Appender, type NewRecord, type TopicNames } from '#libs/kafka-log';
import { type Metrics, parseTraceParent, type Tracing } from '#libs/telemetry';
import { untilItWorks, type Logger } from '#libs/runtime';
import { pushHeaders, type PushClient } from '#libs/webhook-transport';
import type { DispatchLookup } from './dispatch-lookup.js';
import type { Flight } from './lane.js';
import { measureAttempt } from './measure-attempt.js';
import type { RecentAttempts } from './recent-attempts.js';
import { traceAttempt } from './trace-attempt.js';

export interface AttemptMakerDependencies {
  readonly lookup: DispatchLookup;
  readonly client: PushClient;
  readonly appender: Appender;
  readonly recent: RecentAttempts;
  readonly topics: TopicNames;
  readonly schedule: RetrySchedule;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  /** Aborted when the process ends: what is in flight then is left to be made again. */
  readonly signal: AbortSignal;
}

/** Makes attempts: looks up the endpoint, signs, POSTs, and appends what came of it. Never writes Postgres. */
export class AttemptMaker {
  constructor(private readonly use: AttemptMakerDependencies) {}

  /**
   * Resolves once everything that follows from the attempt is in Kafka, so that its offset may move.
   * @throws the signal's reason when the process ends first
   */
  async make(due: DueAttempt, flight: Flight): Promise<void> {
    const found = await this.use.lookup.find(due);
    // The current owner of the partition makes it.
    if (flight.isWithdrawn) return;
    switch (found.kind) {
      // A deleted endpoint's attempts end at once; a retry of a run that is over is not sent any more.
      case 'gone':
      case 'superseded':
        return;
      case 'inactive':
        await this.#append([
          this.#fact({ type: 'ended', delivery: due.delivery, run: due.run, reason: 'endpoint_disabled' }),
        ]);
        return;
      case 'target':
        await this.use.recent.once(due, () => this.#push(due, found.target, flight));
    }
  }

  async #push(due: DueAttempt, target: DispatchTarget, flight: Flight): Promise<void> {
    flight.posting();
    const outcome = await this.#post(due, target);
    flight.answered();
    this.use.signal.throwIfAborted();
    const after = decideAfterAttempt(due.attempt, outcome, this.use.schedule);
    const leadMs = attemptLeadMs(due, outcome.startedAtMs);
    const error = outcome.error === null ? null : errorText(outcome.error);
    const records = [
      this.#fact({
        type: 'attempted',
        delivery: due.delivery,
        run: due.run,
        attempt: due.attempt,
        activation: target.activation,
        startedAtMs: outcome.startedAtMs + leadMs,
        ...(leadMs === 0 ? {} : { leadMs }),
        durationMs: outcome.durationMs,
        responseStatus: outcome.responseStatus,
        error,
        responseExcerpt: outcome.responseExcerpt,
        next: after.kind,
        nextAttemptAtMs: after.kind === 'retry' ? after.dueAtMs + leadMs : null,
      }),
    ];
    const retryTopic = after.kind === 'retry' ? this.use.topics.retry[after.tier - 1] : undefined;
    if (after.kind === 'retry' && retryTopic !== undefined) {
      records.push(attemptRecord(retryTopic, { ...due, attempt: due.attempt + 1, dueAtMs: after.dueAtMs, leadMs }));
    }
    await this.#append(records);
    measureAttempt(this.use.metrics, due, outcome, after);
    traceAttempt(this.use.tracing, due, outcome, after);
    this.use.logger.info(
      {
        org_id: due.delivery.orgId,
        endpoint_id: due.delivery.endpointId,
        delivery_id: due.delivery.deliveryId,
        event_id: due.delivery.eventId,
        trace_id: parseTraceParent(due.traceparent)?.traceId ?? null,
        run: due.run,
        attempt: due.attempt,
        outcome: after.kind,
        response_status: outcome.responseStatus,
        error,
        duration_ms: outcome.durationMs,
      },
      'delivery.attempted',
    );
  }

  async #post(due: DueAttempt, target: DispatchTarget): Promise<AttemptOutcome> {
    const outcome = await this.use.client.post({
      url: target.url,
      headers: (startedAtMs) => pushHeaders(due, target.secret, startedAtMs, target.previousSecret),
      body: due.envelope,
      timeoutMs: this.use.timeoutMs,
      signal: this.use.signal,
    });
    const { startedAtMs, durationMs } = outcome;
    if (outcome.kind === 'failed') {
      const error = { kind: outcome.error, detail: outcome.detail };
      return { startedAtMs, durationMs, responseStatus: null, error, responseExcerpt: null };
    }
    const { status, responseExcerpt } = outcome;
    const succeeded = status >= 200 && status <= 299;
    const error = succeeded ? null : { kind: 'http_status' as const, detail: String(status) };
    return { startedAtMs, durationMs, responseStatus: status, error, responseExcerpt };
  }

  #fact(fact: DeliveryFact): NewRecord {
    return factRecord(this.use.topics.deliveries, fact);
  }

  /** Keeps the outcome of an attempt until Kafka has it, however long that takes. */
  async #append(records: readonly NewRecord[]): Promise<void> {
    await untilItWorks(() => this.use.appender.append(records), {
      signal: this.use.signal,
      onFailure: (error, failures, waitMs) => {
        this.use.logger.warn({ err: error, failures, wait_ms: waitMs }, 'dispatcher.waiting');
      },
    });
  }
}
