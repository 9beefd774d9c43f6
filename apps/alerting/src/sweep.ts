import { decideAlerts, type Alert, type Clock, type ConversationId, type EventId } from '#libs/domain';
import type { AlertClaims, AlertClaim, DueQueue } from '#libs/postgres';
import type { Logger } from '#libs/runtime';
import type { Metrics } from '#libs/telemetry';
import type { AlertPublisher } from './alert-publisher.js';
import type { CaughtUpPartitions } from './caught-up-partitions.js';

/** Conversations that are decided about at a time. A sweep repeats this until none is left. */
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
}

/**
 * Raises the alerts of conversations that have waited past a threshold (contract 7.4). Any number of processes may
 * sweep.
 */
export class Sweep {
  constructor(private readonly use: SweepDependencies) {
    for (const stage of ['1', '2']) use.metrics.add('gapless_alerts_raised_total', { stage }, 0);
  }

  /**
   * Raises alerts as of now, in the partitions whose queues hold every earlier event.
   * @throws when Kafka or Postgres cannot be reached; a later sweep of any process publishes the alerts that were
   *   already raised
   */
  async round(): Promise<Swept> {
    const nowMs = this.use.clock.now();
    const swept = { partitions: [] as number[], raised: 0, published: 0 };
    for await (const partitions of this.use.caughtUp.find()) {
      const raised = await this.#raise(partitions, nowMs);
      swept.partitions.push(...partitions);
      swept.raised += raised.size;
      swept.published += await this.use.publisher.publish(partitions, raised);
    }
    return swept;
  }

  async #raise(partitions: readonly number[], nowMs: number): Promise<ReadonlySet<EventId>> {
    const all = new Set<EventId>();
    for (;;) {
      const due = await this.use.claims.due(partitions, nowMs, BATCH);
      const claims = due.flatMap((queue) => this.#decide(queue, nowMs));
      const raised = await this.use.claims.claim(claims);
      this.#report(claims, raised);
      for (const eventId of raised) all.add(eventId);
      const count = due.reduce((sum, { queue }) => sum + queue.waiting.length, 0);
      // If nothing could be claimed, another process is claiming the same alerts. The next sweep covers the rest.
      if (count < BATCH || raised.size === 0) return all;
    }
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
