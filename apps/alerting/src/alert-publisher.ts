import type { Clock, EventId } from '#libs/domain';
import { isPostgresAway, type AlertOutbox, type UnpublishedAlert } from '#libs/postgres';
import {
  hasLeader,
  readPartitions,
  REQUEST_BYTES,
  stretchesOf,
  type Appender,
  type KafkaConnection,
  type LogPositions,
  type PartitionBounds,
  type PartitionWriter,
  type TopicNames,
} from '#libs/kafka-log';
import type { Logger } from '#libs/runtime';
import { alertEventRecord, alertIdIn, staffAlertRecord, waitingSinceMs } from './alert-records.js';

/** The most alerts published in one transaction, usually a few hundred kilobytes. */
const BATCH = 200;
/** The partitions whose alerts are published at the same time. Each takes a connection to Postgres. */
const AT_A_TIME = 4;
/** The most that the clock of the service that hands a conversation off may be ahead of the brokers' clock. */
const CLOCK_SKEW_MS = 600_000;
/** The most that the clock of the process that raised an alert may be ahead of the brokers' clock. */
const CLOCK_AHEAD_MS = 2 * 3_600_000;

export interface AlertPublisherDependencies {
  readonly outbox: AlertOutbox;
  readonly connection: KafkaConnection;
  readonly positions: LogPositions;
  readonly appender: Appender;
  readonly writer: PartitionWriter;
  readonly topics: TopicNames;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The outcome of a publication. */
export interface Published {
  readonly count: number;
  /** The errors of the partitions whose alerts are left to a later publication. */
  readonly failures: ReadonlyMap<number, unknown>;
}

/** The bounds of the staff alerts, by partition; nothing of those that could not be read. */
export type StaffAlertBounds = ReadonlyMap<number, PartitionBounds>;

/** The alerts that this process has just raised, and a partition of the staff alerts. */
interface RaisedAlerts {
  readonly events: ReadonlySet<EventId>;
  /** Where the partition ends if no other process has written to it since; `undefined` if that is not known. */
  readonly end: number | undefined;
}

/** What a partition of the staff alerts holds, as far as it was read. */
interface WrittenAlerts {
  readonly ids: Set<string>;
  /** The time of the first record that was read, epoch milliseconds. */
  sinceMs: number;
  /** The offset up to which it was read. */
  next: number;
}

/**
 * Publishes raised alerts: the event to the inbox, and the staff alert to its topic. A failed process may have
 * published an alert already. Such an alert gets only the records that the log or the staff alerts lack. An alert whose
 * chat was answered before its event was in the log gets none.
 */
export class AlertPublisher {
  /** The partitions that could not be published last, with what was read of them: the next time reads on from there. */
  readonly #failing = new Map<number, WrittenAlerts>();

  constructor(private readonly use: AlertPublisherDependencies) {}

  /** Reads the bounds of the staff alerts. Does not throw, because the events do not wait for that. */
  async staffAlertBounds(): Promise<StaffAlertBounds> {
    try {
      return await this.use.positions.bounds(this.use.topics.staffAlerts);
    } catch {
      return new Map();
    }
  }

  /**
   * @param partitions log partitions that are caught up, so that an event that is not known to be in the log is not
   *   there
   * @param raised the events of alerts that this process has just raised
   * @param before the bounds of the staff alerts from before those were raised. So no process had written them yet.
   * @param signal ends the work after the present batch
   * @returns what was published. A partition that fails blocks no other one.
   * @throws when Postgres cannot be reached
   */
  async publish(
    partitions: readonly number[],
    raised: ReadonlySet<EventId>,
    before: StaffAlertBounds,
    signal?: AbortSignal,
  ): Promise<Published> {
    const waiting = await this.use.outbox.waitingIn(partitions);
    const failures = new Map<number, unknown>();
    let count = 0;
    for (const group of this.#inTurn(waiting)) {
      const publish = async (partition: number) => {
        const written = this.#failing.get(partition) ?? { ids: new Set(), sinceMs: Infinity, next: 0 };
        try {
          const fresh = { events: raised, end: endOf(before, partition) };
          const published = await this.#publishPartition(partition, fresh, written, signal);
          // Not with an `await` in it: other partitions are counted meanwhile.
          count += published;
          this.#failing.delete(partition);
        } catch (error) {
          // Also if Postgres ended the transaction because the reading took too long.
          this.#failing.set(partition, written);
          if (isPostgresAway(error)) throw error;
          failures.set(partition, error);
        }
      };
      for (const outcome of await Promise.allSettled(group.map(publish))) {
        if (outcome.status === 'rejected') throw outcome.reason;
      }
    }
    return { count, failures };
  }

  /** Those that failed come last, each by itself: they may take long, and fail the requests that they share. */
  *#inTurn(partitions: readonly number[]): Generator<readonly number[]> {
    const others = partitions.filter((partition) => !this.#failing.has(partition));
    const failing = partitions.filter((partition) => this.#failing.has(partition));
    for (let from = 0; from < others.length; from += AT_A_TIME) yield others.slice(from, from + AT_A_TIME);
    for (const partition of failing) yield [partition];
  }

  async #publishPartition(
    partition: number,
    raised: RaisedAlerts,
    written: WrittenAlerts,
    signal?: AbortSignal,
  ): Promise<number> {
    const { outbox, clock, topics } = this.use;
    let published = 0;
    let { end } = raised;
    for (;;) {
      const options = { limit: BATCH, nowMs: clock.now(), logTopic: topics.log };
      const { count, withheld } = await outbox.publish(partition, options, async (alerts) => {
        const wrote = await this.#write(partition, alerts, { ...raised, end }, written);
        if (end !== undefined) end += wrote;
      });
      published += count;
      this.#report(withheld);
      if (count + withheld.length === 0 || signal?.aborted === true) return published;
    }
  }

  #report(withheld: readonly UnpublishedAlert[]): void {
    for (const { orgId, conversationId, eventId, stage } of withheld) {
      const alert = { org_id: orgId, conversation_id: conversationId, event_id: eventId, stage };
      this.use.logger.info(alert, 'alert.withheld');
    }
  }

  /** @returns how many staff alerts it wrote */
  async #write(
    partition: number,
    alerts: readonly UnpublishedAlert[],
    raised: RaisedAlerts,
    written: WrittenAlerts,
  ): Promise<number> {
    const { appender, topics } = this.use;
    // A second copy does no harm: the sequencer drops an id that the log or an earlier inbox record has.
    const events = appender.append(
      alerts.filter(({ isLogged }) => !isLogged).map((alert) => alertEventRecord(topics.inbox, alert)),
    );
    const staffAlerts = alerts
      .filter(({ notifiesStaff }) => notifiesStaff)
      .toSorted((one, other) => one.raisedAtMs - other.raisedAtMs);
    // Neither waits for the other. Both have ended when the alerts are marked, or left to another process.
    const both = [events, this.#writeStaffAlerts(partition, staffAlerts, raised, written)] as const;
    const [appended, wrote] = await Promise.allSettled(both);
    if (appended.status === 'rejected') throw appended.reason;
    if (wrote.status === 'rejected') throw wrote.reason;
    return wrote.value;
  }

  async #writeStaffAlerts(
    partition: number,
    alerts: readonly UnpublishedAlert[],
    raised: RaisedAlerts,
    written: WrittenAlerts,
  ): Promise<number> {
    const { topics, writer } = this.use;
    const uncertain = await this.#uncertain(partition, alerts, raised);
    if (uncertain.length > 0) await this.#readWritten(partition, uncertain, written);
    const missing = alerts.filter(({ alertId }) => !written.ids.has(alertId));
    for (const stretch of stretchesOf(missing.map(staffAlertRecord), { bytes: REQUEST_BYTES })) {
      await writer.write(topics.staffAlerts, partition, stretch);
    }
    return missing.length;
  }

  /**
   * Returns those of the alerts that another process may have written, and died before it marked them. The caller holds
   * their locks, so no process writes them after this look.
   */
  async #uncertain(
    partition: number,
    alerts: readonly UnpublishedAlert[],
    { events, end }: RaisedAlerts,
  ): Promise<readonly UnpublishedAlert[]> {
    const earlier = alerts.filter(({ eventId }) => !events.has(eventId));
    if (earlier.length === alerts.length || end === undefined) return alerts;
    const isAlone = endOf(await this.staffAlertBounds(), partition) === end;
    return isAlone ? earlier : alerts;
  }

  /** Reads on in the topic, from a time at which none of these alerts was written. Ids that were found before are kept. */
  async #readWritten(partition: number, alerts: readonly UnpublishedAlert[], written: WrittenAlerts): Promise<void> {
    const { connection, positions, topics } = this.use;
    const sinceMs = Math.max(0, Math.min(...alerts.map(notWrittenBeforeMs)) - CLOCK_SKEW_MS);
    const isEarlier = sinceMs < written.sinceMs;
    const from = isEarlier
      ? ((await positions.endsBefore(topics.staffAlerts, sinceMs)).get(partition) ?? 0)
      : written.next;
    const stretch = { topic: topics.staffAlerts, partition, from };
    const ends = await readPartitions(connection, [stretch], ({ value }) => {
      const alertId = alertIdIn(value);
      if (alertId !== undefined) written.ids.add(alertId);
    });
    for (const end of ends.values()) written.next = end;
    if (isEarlier) written.sinceMs = sinceMs;
  }
}

function endOf(bounds: StaffAlertBounds, partition: number): number | undefined {
  return hasLeader(bounds, partition) ? bounds.get(partition)?.end : undefined;
}

/**
 * Returns a time after which the alert was written by the brokers' clock, also if the clock of the process that raised
 * it was ahead: its conversation waits since then. What a conversation says must not make much to read.
 */
function notWrittenBeforeMs(alert: UnpublishedAlert): number {
  return Math.max(waitingSinceMs(alert), alert.raisedAtMs - CLOCK_AHEAD_MS);
}
