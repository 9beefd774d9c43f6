import { decideAlerts, type Alert, type Clock, type ConversationId, type EventId } from '#libs/domain';
import type { AlertClaims, AlertClaim, DueQueue } from '#libs/postgres';
import type { Logger } from '#libs/runtime';
import type { Metrics } from '#libs/telemetry';
import type { AlertPublisher, StaffAlertBounds } from './alert-publisher.js';
import type { CaughtUpPartitions } from './caught-up-partitions.js';

/** The most conversations that are decided about at a time, in equal parts by partition. */
const BATCH = 500;

export interface SweepDependencies {
  readonly caughtUp: CaughtUpPartitions;
  readonly claims: AlertClaims;
  readonly publisher: AlertPublisher;
  /** Whether staff alerts can be mailed. */
  readonly mails: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The result of a sweep. */
export interface Swept {
  /** The log partitions that the sweep covered; the others lag. */
  readonly partitions: readonly number[];
  readonly raised: number;
  readonly published: number;
  /** Partitions where more is due than `batches` allowed. */
  readonly left: readonly number[];
  /** The errors of the partitions whose alerts wait to be published, by a later sweep of any process. */
  readonly failures: ReadonlyMap<number, unknown>;
  /** How long it raised and published alerts, milliseconds. */
  readonly workedMs: number;
}

/** What one batch has raised. */
interface Raised {
  readonly raised: ReadonlySet<EventId>;
  /** The bounds of the staff alerts before that; nothing if it notifies no staff. */
  readonly before: StaffAlertBounds;
  /** The partitions where more may be due. */
  readonly full: readonly number[];
}

export interface SweepOptions {
  /** How long to wait for partitions that lag, milliseconds. */
  readonly patienceMs?: number;
  /** Ends the sweep after the present batch. The next sweep of any process raises the rest. */
  readonly signal?: AbortSignal;
  /** The log partitions to sweep; all by default. */
  readonly among?: ReadonlySet<number>;
  /** The most batches of a partition; by default the sweep goes on until nothing is left. */
  readonly batches?: number;
}

/**
 * Raises the alerts of conversations that have waited past a threshold (contract 7.4). Any number of processes may
 * sweep.
 */
export class Sweep {
  /** The work on each partition. Only one sweep of this process raises and publishes alerts of a partition at a time. */
  readonly #busy = new Map<number, Promise<unknown>>();
  /** The time for which the queue of a partition was last found to be caught up, epoch milliseconds. */
  readonly #caughtUpTo = new Map<number, number>();
  /** The time up to which the alerts of a partition were last raised, epoch milliseconds. */
  readonly #raisedTo = new Map<number, number>();

  constructor(private readonly use: SweepDependencies) {
    for (const stage of ['1', '2']) use.metrics.add('gapless_alerts_raised_total', { stage }, 0);
  }

  /**
   * Raises alerts as of now, in the partitions whose queues hold every earlier event.
   * @throws when Kafka or Postgres cannot be reached; a later sweep of any process publishes the alerts that were
   *   already raised. A partition alone that takes no writes is among the `failures`.
   */
  async round({ patienceMs, signal, among, batches = Infinity }: SweepOptions = {}): Promise<Swept> {
    const nowMs = this.use.clock.now();
    const failures = new Map<number, unknown>();
    const swept = { partitions: [] as number[], raised: 0, published: 0, left: [] as number[], failures, workedMs: 0 };
    for await (const partitions of this.use.caughtUp.find(among, patienceMs)) {
      swept.partitions.push(...partitions);
      for (const partition of partitions) this.#caughtUpTo.set(partition, nowMs);
      let open = partitions;
      for (let batch = 0; batch < batches && open.length > 0 && signal?.aborted !== true; batch++) {
        await this.#exclusively(open, async () => {
          const startedAt = performance.now();
          // A later sweep that was caught up at the same moment has raised what this one is for.
          if (among !== undefined) open = open.filter((partition) => !this.#isRaisedTo(partition, nowMs));
          if (open.length === 0) return;
          const toMs = Math.max(nowMs, Math.min(...open.map((partition) => this.#caughtUpTo.get(partition) ?? nowMs)));
          const { raised, before, full } = await this.#raise(open, toMs);
          swept.raised += raised.size;
          const published = await this.use.publisher.publish(open, raised, before, signal);
          swept.published += published.count;
          for (const [partition, error] of published.failures) failures.set(partition, error);
          swept.workedMs += Math.round(performance.now() - startedAt);
          for (const partition of open) {
            if (!full.includes(partition) && !failures.has(partition)) this.#raisedTo.set(partition, toMs);
          }
          open = full.filter((partition) => !failures.has(partition));
        });
      }
      swept.left.push(...open);
    }
    return swept;
  }

  async #raise(partitions: readonly number[], nowMs: number): Promise<Raised> {
    const share = Math.ceil(BATCH / partitions.length);
    const due = await this.use.claims.due(partitions, nowMs, share);
    const claims = due.queues.flatMap((queue) => this.#decide(queue, nowMs));
    const notifiesStaff = claims.some(({ alerts }) => alerts.some((alert) => alert.notifiesStaff));
    // As soon as they are raised, another process can publish them.
    const before = notifiesStaff ? await this.use.publisher.staffAlertBounds() : new Map<number, never>();
    const raised = await this.use.claims.claim(claims);
    this.#report(claims, raised);
    // If nothing could be claimed, another process is claiming the same alerts. The next sweep covers the rest.
    return { raised, before, full: raised.size === 0 ? [] : due.full };
  }

  #isRaisedTo(partition: number, atMs: number): boolean {
    const toMs = this.#raisedTo.get(partition) ?? -Infinity;
    // If the clock was set back, a time in the future says nothing of what has become due since.
    return toMs >= atMs && toMs <= this.use.clock.now();
  }

  async #exclusively(partitions: readonly number[], act: () => Promise<void>): Promise<void> {
    const earlier = Promise.allSettled(partitions.map((partition) => this.#busy.get(partition) ?? Promise.resolve()));
    const acting = earlier.then(act);
    for (const partition of partitions) this.#busy.set(partition, acting);
    await acting;
  }

  #decide({ queue, settings, partition }: DueQueue, nowMs: number): readonly AlertClaim[] {
    const byConversation = new Map<ConversationId, Alert[]>();
    for (const alert of decideAlerts(queue, settings, nowMs)) {
      byConversation.set(alert.conversationId, [...(byConversation.get(alert.conversationId) ?? []), alert]);
    }
    const mails = this.use.mails && settings.staffAlerts.emails.length > 0;
    return queue.waiting.flatMap((waiting) => {
      const alerts = byConversation.get(waiting.conversationId);
      return alerts === undefined ? [] : [{ waiting, partition, alerts, mails }];
    });
  }

  #report(claims: readonly AlertClaim[], raised: ReadonlySet<EventId>): void {
    for (const alert of claims.flatMap(({ alerts }) => alerts)) {
      if (!raised.has(alert.eventId)) continue;
      this.use.metrics.add('gapless_alerts_raised_total', { stage: String(alert.stage) });
      this.use.logger.info(
        {
          org_id: alert.orgId,
          conversation_id: alert.conversationId,
          event_id: alert.eventId,
          stage: alert.stage,
          waited_seconds: alert.data.conversation.waited_seconds,
        },
        'alert.raised',
      );
    }
  }
}
