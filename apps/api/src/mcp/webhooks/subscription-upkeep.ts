import { Inject, Injectable } from '@nestjs/common';
import {
  deliveryIdOf,
  EventCursors,
  filteredReception,
  isReceived,
  mcpError,
  replayAtMs,
  WEBHOOK_EVENT_NAMES,
  type Clock,
  type ControlEnvelope,
  type EventFilters,
} from '#libs/domain';
import { Appender, attemptRecord, factRecord, partitionOf, type NewRecord, type TopicNames } from '#libs/kafka-log';
import { CLOCK, CONFIG, EVENT_FILTERS, LOGGER, RegularWork, TOPICS } from '#libs/platform';
import { McpUpkeep, projectedUpTo, Store, type LateEvent, type LateSubscription, type McpNotice } from '#libs/postgres';
import type { Config, Logger } from '#libs/runtime';
import { replayRecords } from '../../deliveries/replay.js';
import { LogMoments } from '../../webhooks/log-moments.js';
import { CallbackClients } from './callback-clients.js';

const EVERY_MS = 1_000;
/** Slower work is done every so many times. */
const SLOW_EVERY = 2;
/** Events that are sent late at a time, of one subscription: a few megabytes at most for events of the usual size. */
const LATE_EVENTS = 100;
const PATIENCE_MS = 2_000;
/** A round ends its catch-up once failures have taken longer than this in all. The next one takes others first. */
const MAX_FAILED_MS = 5_000;
/** Longer than the projector usually needs to store that an event is sent again. */
const AGAIN_AFTER_MS = 30_000;
/**
 * The waits after attempts to say something to a subscriber, milliseconds. The last one is longer than an attempt takes: a
 * message is not given up while its last attempt is under way.
 */
const NOTICE_WAITS_MS = [10_000, 60_000, 300_000, 30_000];

const ERRORS = {
  revoked: mcpError('Forbidden', 'The API key is revoked or expired.', { reason: 'Access revoked' }),
  removed: mcpError('NotFound', 'There is no such event type any more.', { kind: 'event' }),
  failing: mcpError('CallbackEndpointError', 'Deliveries have failed for long.', { reason: 'http_5xx' }),
};

/** What has failed in a round. Further subscriptions would wait for the same. */
interface Failures {
  /** The partitions of the log whose end could not be read. */
  readonly unread: Set<number>;
  /** The partitions of deliveries that took no records. */
  readonly refusing: Set<number>;
}

/**
 * Keeps webhook subscriptions in order: ends and expires them, sends events that the router does not send, moves
 * watermarks, and says what subscribers have to know. One process at a time does this.
 */
@Injectable()
export class SubscriptionUpkeep extends RegularWork {
  #times = 0;
  readonly #sending = new Set<Promise<void>>();

  constructor(
    private readonly upkeep: McpUpkeep,
    private readonly store: Store,
    private readonly callbacks: CallbackClients,
    private readonly cursors: EventCursors,
    private readonly log: LogMoments,
    private readonly appender: Appender,
    @Inject(EVENT_FILTERS) private readonly filters: EventFilters,
    @Inject(TOPICS) private readonly topics: TopicNames,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: EVERY_MS });
  }

  override async beforeApplicationShutdown(): Promise<void> {
    await super.beforeApplicationShutdown();
    await Promise.all(this.#sending);
  }

  protected async act(signal: AbortSignal): Promise<undefined> {
    await this.upkeep.exclusively(async () => {
      if (this.#times++ % SLOW_EVERY === 0) await this.#keepInOrder();
      // Before the catch-up, which waits for Kafka.
      const onUnreadable = (error: unknown, subscriptionId: string) => {
        this.logger.warn({ err: error, subscription_id: subscriptionId }, 'mcp.upkeep_failed');
      };
      for (const notice of await this.upkeep.claimNotices(NOTICE_WAITS_MS, onUnreadable)) this.#send(notice);
      await this.#catchUpAll(signal);
    });
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'mcp.upkeep_failed');
  }

  get #keptSince(): Date {
    return new Date(this.clock.now() - this.config.retentionMs);
  }

  async #keepInOrder(): Promise<void> {
    const ended = await this.upkeep.end(WEBHOOK_EVENT_NAMES, ERRORS);
    const expired = await this.upkeep.expire();
    const suspended = await this.upkeep.suspend();
    const gaps = await this.upkeep.advance(this.#keptSince, (error) => {
      this.failed(error);
    });
    const again = await this.upkeep.catchUpAgain(AGAIN_AFTER_MS);
    if (ended + expired + suspended + gaps + again > 0) {
      this.logger.info({ ended, expired, suspended, gaps, again }, 'mcp.subscriptions_changed');
    }
  }

  /**
   * Catches up one after the other. A partition that takes no records blocks only those whose records go to it, and one of
   * the log whose end cannot be read only those that need it.
   */
  async #catchUpAll(signal: AbortSignal): Promise<void> {
    const failures: Failures = { unread: new Set(), refusing: new Set() };
    let failedMs = 0;
    for (const late of await this.upkeep.late()) {
      if (signal.aborted || failedMs > MAX_FAILED_MS) return;
      if (this.#isBlocked(late, failures)) continue;
      const startedAtMs = performance.now();
      try {
        await this.#catchUp(late, failures);
      } catch (error) {
        failedMs += performance.now() - startedAtMs;
        this.failed(error);
      }
    }
  }

  #isBlocked(late: LateSubscription, { unread, refusing }: Failures): boolean {
    const { orgId, endpointId, catchUpToSeq, catchUpOffset } = late;
    if (catchUpToSeq !== null) return refusing.has(partitionOf(endpointId, this.config.partitions));
    return catchUpOffset === null && unread.has(partitionOf(orgId, this.config.partitions));
  }

  /**
   * Sends events that came before the router knew the subscription. The end of the log is asked for after the
   * subscription was stored: the router sees every later event together with the subscription. An event that the
   * router has sent, too, has the same delivery, whose attempt is not made again.
   */
  async #catchUp(late: LateSubscription, failures: Failures): Promise<void> {
    if (late.catchUpToSeq === null) {
      const end = late.catchUpOffset ?? (await this.#logEnd(late, failures));
      if (late.catchUpOffset === null) await this.upkeep.routedFrom(late, end);
      const projected = await projectedUpTo(this.store, 'feed', this.topics.log);
      const partition = partitionOf(late.orgId, this.config.partitions);
      if ((projected.get(partition) ?? 0) >= end) await this.upkeep.catchUpToHead(late, end);
      return;
    }
    const events = await this.upkeep.lateEvents(late, this.#keptSince, LATE_EVENTS);
    const records = events.flatMap((event) => this.#records(late, event));
    if (records.length > 0) await this.#append(late, records, failures);
    const last = events.at(-1);
    const isAll = last === undefined || events.length < LATE_EVENTS;
    await this.upkeep.caughtUp(late, isAll ? late.catchUpToSeq : last.seq);
  }

  async #logEnd({ orgId }: LateSubscription, failures: Failures): Promise<number> {
    try {
      return await this.log.endOf(orgId, PATIENCE_MS);
    } catch (error) {
      failures.unread.add(partitionOf(orgId, this.config.partitions));
      throw error;
    }
  }

  async #append({ endpointId }: LateSubscription, records: readonly NewRecord[], failures: Failures): Promise<void> {
    try {
      await this.appender.append(records);
    } catch (error) {
      failures.refusing.add(partitionOf(endpointId, this.config.partitions));
      throw error;
    }
  }

  #records({ orgId, endpointId, filter }: LateSubscription, event: LateEvent): readonly NewRecord[] {
    const { eventId, seq, createdAtMs, envelope } = event;
    const delivery = {
      deliveryId: deliveryIdOf(eventId, endpointId),
      endpointId,
      orgId,
      eventId,
      event: event.event,
      seq,
      createdAtMs,
    };
    const nowMs = this.clock.now();
    if (event.delivery === null) {
      if (!isReceived(filteredReception(filter, envelope, this.filters))) return [];
      const due = { delivery, run: 0, attempt: 1, dueAtMs: nowMs, traceparent: null, envelope };
      return [
        factRecord(this.topics.deliveries, { type: 'scheduled', delivery }),
        attemptRecord(this.topics.attempts, due),
      ];
    }
    const { run, status, lastError } = event.delivery;
    // Only what ended with a suspension is sent again.
    if (status !== 'failed' || lastError !== 'endpoint_disabled') return [];
    const atMs = replayAtMs(nowMs, createdAtMs, null);
    return replayRecords(this.topics, { type: 'replayed', delivery, run: run + 1, atMs }, envelope, nowMs);
  }

  #send(notice: McpNotice): void {
    const sending = this.#say(notice).catch((error: unknown) => {
      this.failed(error);
    });
    this.#sending.add(sending);
    void sending.finally(() => this.#sending.delete(sending));
  }

  async #say(notice: McpNotice): Promise<void> {
    const { url, subscriptionId, messageId: id, secrets, attempt } = notice;
    // Later ones are due only if nobody has ended the message after its last attempt.
    if (attempt <= NOTICE_WAITS_MS.length) {
      const outcome = await this.callbacks.send({ url, subscriptionId, id, secrets, envelope: this.#envelope(notice) });
      if (outcome.kind !== 'accepted' && attempt < NOTICE_WAITS_MS.length) return;
    }
    await this.upkeep.noticed(notice);
  }

  #envelope({ orgId, content }: McpNotice): ControlEnvelope {
    if ('error' in content) return { type: 'terminated', error: content.error };
    return { type: 'gap', cursor: this.cursors.at(orgId, content.gapSeq) };
  }
}
