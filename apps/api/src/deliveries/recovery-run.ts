import { deliveryIdOf, replayAtMs, type Clock, type DeliveryId, type Replayed, type Seq } from '#libs/domain';
import {
  recoveredDelivery,
  type EndpointRecord,
  type EndpointRecords,
  type Recoverable,
  type RecoveryRecord,
  type RecoveryRecords,
  type RecoverySource,
  type RecoveryWorker,
} from '#libs/postgres';
import { attemptRecord, factRecord, type Appender, type NewRecord, type TopicNames } from '#libs/kafka-log';
import { appendOrRefuse } from './append-or-refuse.js';
import type { ProjectedFacts } from './projected-facts.js';
import { replayRecords } from './replay.js';
import type { RoutingProgress } from './routing-progress.js';

/** Events that are looked up and scheduled at a time: a few megabytes at most for events of the usual size. */
export const RECOVERY_PAGE = 200;
/** With so many pending deliveries, the endpoint gets no more of a recovery until it has caught up. */
const MOST_PENDING = 5_000;
/** How long it waits for the endpoint, routing or the projection, while others have their turns. */
const WAIT_MS = 2_000;
/** How long a turn is. Many long recoveries take turns, so that none waits for the end of another. */
const TURN_MS = 5_000;

export interface RecoveryRunDependencies {
  readonly endpoints: EndpointRecords;
  readonly facts: Pick<ProjectedFacts, 'areComplete'>;
  readonly routing: Pick<RoutingProgress, 'lookTime'>;
  readonly source: RecoverySource;
  readonly records: RecoveryRecords;
  readonly appender: Appender;
  readonly topics: TopicNames;
  readonly clock: Clock;
  readonly worker: RecoveryWorker;
  readonly signal: AbortSignal;
}

/** Returns the run to schedule: the next one for a failed delivery, the first one for an event without a delivery. */
function runAfter(event: Recoverable): number {
  return event.kind === 'failed' ? event.run + 1 : 0;
}

/**
 * Works on a recovery, page by page in seq order. Each page is noted after it was scheduled. If the process ends in
 * between, the next worker schedules the page again: its failed deliveries are then pending, or get the same run.
 */
export class RecoveryRun {
  #matched: number;
  #scheduled: number;
  /** The delivery that was scheduled last, and its run. */
  #last: { readonly id: DeliveryId; readonly run: number } | undefined;
  #isComplete = false;

  constructor(
    readonly recovery: RecoveryRecord,
    private readonly use: RecoveryRunDependencies,
  ) {
    this.#matched = recovery.matched;
    this.#scheduled = recovery.scheduled;
  }

  get progress() {
    return { complete: this.#isComplete, matched: this.#matched, scheduled: this.#scheduled };
  }

  get worker() {
    return this.use.worker;
  }

  get last() {
    return this.#last;
  }

  /**
   * Works for a turn. Returns earlier if the recovery has ended, was stopped or is another worker's, or has to wait. A
   * recovery that has not ended is then released.
   */
  async run(): Promise<void> {
    const { recovery } = this;
    const { endpoints, facts, routing, source, records, clock, worker, signal } = this.use;
    signal.throwIfAborted();
    // The facts of what was routed by then are projected before the first page. So what has no delivery was not sent.
    const began = await routing.lookTime(recovery.orgId);
    if (!(await facts.areComplete(recovery.endpointId, signal))) {
      await records.release(recovery, worker, WAIT_MS);
      return;
    }
    const endsMs = performance.now() + TURN_MS;
    // Events that routing may still send are looked at once more, until it cannot.
    let undecided: Seq | null = null;
    for (let after = recovery.afterSeq; ;) {
      signal.throwIfAborted();
      const endpoint = await endpoints.find(recovery.orgId, recovery.endpointId);
      if (endpoint === undefined) return;
      if (!endpoint.isActive) {
        await records.end(recovery, worker, {
          status: 'failed',
          error: 'endpoint_inactive',
          at: new Date(clock.now()),
        });
        return;
      }
      // What this turn has scheduled may not be projected yet. The next turn waits until it is.
      const scheduled = this.#scheduled - recovery.scheduled;
      if (scheduled + (await source.pending(recovery.orgId, endpoint.id)) >= MOST_PENDING) {
        await records.release(recovery, worker, scheduled === 0 ? WAIT_MS : 0);
        return;
      }
      const { kinds, range } = recovery;
      const page = await source.page(recovery.orgId, endpoint, kinds, range, after, RECOVERY_PAGE, began);
      await this.#schedule(endpoint, page.events);
      undecided ??= page.firstUndecided;
      after = page.next ?? recovery.throughSeq;
      // A page may end long before the first such event.
      const afterSeq = undecided === null ? after : (Math.min(after, undecided - 1) as Seq);
      const step = { afterSeq, matched: page.events.length, scheduled: page.events.length };
      if (!(await records.step(recovery, worker, step))) return;
      if (page.next !== null && performance.now() < endsMs) continue;
      if (page.next !== null || undecided !== null) {
        await records.release(recovery, worker, page.next === null ? WAIT_MS : 0);
        return;
      }
      this.#isComplete = true;
      await records.end(recovery, worker, { status: 'done', at: new Date(clock.now()) });
      return;
    }
  }

  async #schedule(endpoint: EndpointRecord, events: readonly Recoverable[]): Promise<void> {
    this.#matched += events.length;
    const last = events.at(-1);
    if (last === undefined) return;
    await appendOrRefuse(
      this.use.appender,
      events.flatMap((event) => this.#records(endpoint, event)),
    );
    this.#scheduled += events.length;
    this.#last = { id: deliveryIdOf(last.eventId, endpoint.id), run: runAfter(last) };
  }

  #records(endpoint: EndpointRecord, event: Recoverable): readonly NewRecord[] {
    const { topics, clock } = this.use;
    const delivery = recoveredDelivery(endpoint.orgId, endpoint.id, event);
    const nowMs = clock.now();
    if (event.kind === 'failed') {
      const atMs = replayAtMs(nowMs, event.createdAtMs, event.lastAttemptEndMs);
      const replayed: Replayed = { type: 'replayed', delivery, run: runAfter(event), atMs };
      return replayRecords(topics, replayed, event.envelope, nowMs);
    }
    return [
      factRecord(topics.deliveries, { type: 'scheduled', delivery }),
      attemptRecord(topics.attempts, {
        delivery,
        run: 0,
        attempt: 1,
        dueAtMs: nowMs,
        traceparent: null,
        envelope: event.envelope,
      }),
    ];
  }
}
