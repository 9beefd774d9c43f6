import type { Clock, EventId } from '#libs/domain';
import type { AlertOutbox, UnpublishedAlert } from '#libs/postgres';
import {
  readPartitions,
  REQUEST_BYTES,
  stretchesOf,
  type Appender,
  type KafkaConnection,
  type LogPositions,
  type PartitionWriter,
  type TopicNames,
} from '#libs/kafka-log';
import { alertEventRecord, alertIdIn, staffAlertRecord } from './alert-records.js';

/** The most alerts published in one transaction, usually a few hundred kilobytes. */
const BATCH = 200;
/** The most that the clocks of the processes that raise and write an alert may differ. */
const CLOCK_SKEW_MS = 600_000;

export interface AlertPublisherDependencies {
  readonly outbox: AlertOutbox;
  readonly connection: KafkaConnection;
  readonly positions: LogPositions;
  readonly appender: Appender;
  readonly writer: PartitionWriter;
  readonly topics: TopicNames;
  readonly clock: Clock;
}

/**
 * Publishes raised alerts: the event to the inbox, and the staff alert to its topic. A failed process may have
 * published an alert already. Such an alert gets only the records that the log or the staff alerts lack.
 */
export class AlertPublisher {
  constructor(private readonly use: AlertPublisherDependencies) {}

  /**
   * @param partitions log partitions that are caught up, so that an event that is not known to be in the log is not
   *   there
   * @param raised the events of alerts that this process has just raised, so that no process can have published them
   * @param signal ends the work after the present batch
   * @returns how many alerts were published
   */
  async publish(partitions: readonly number[], raised: ReadonlySet<EventId>, signal?: AbortSignal): Promise<number> {
    if (raised.size === 0 && !(await this.use.outbox.hasAny(partitions))) return 0;
    let published = 0;
    for (;;) {
      const options = { limit: BATCH, nowMs: this.use.clock.now(), logTopic: this.use.topics.log };
      const { count, hasMore } = await this.use.outbox.publish(partitions, options, (alerts) => this.#write(alerts, raised));
      published += count;
      if (!hasMore || signal?.aborted === true) return published;
    }
  }

  async #write(alerts: readonly UnpublishedAlert[], raised: ReadonlySet<EventId>): Promise<void> {
    const { appender, topics } = this.use;
    // A second copy does no harm: the sequencer drops an id that the log or an earlier inbox record has.
    const events = appender.append(
      alerts.filter(({ isLogged }) => !isLogged).map((alert) => alertEventRecord(topics.inbox, alert)),
    );
    // Neither waits for the other. Both have ended when the alerts are marked, or left to another process.
    for (const outcome of await Promise.allSettled([events, this.#writeStaffAlerts(alerts, raised)])) {
      if (outcome.status === 'rejected') throw outcome.reason;
    }
  }

  async #writeStaffAlerts(alerts: readonly UnpublishedAlert[], raised: ReadonlySet<EventId>): Promise<void> {
    const { topics } = this.use;
    const staffAlerts = alerts.filter(({ tellsStaff }) => tellsStaff);
    const uncertain = staffAlerts.filter(({ eventId }) => !raised.has(eventId));
    const written = await this.#alreadyWritten(uncertain);
    const missing = staffAlerts.filter(({ alertId }) => !written.has(alertId));
    for (const partition of new Set(missing.map((alert) => alert.partition))) {
      const records = missing.filter((alert) => alert.partition === partition).map(staffAlertRecord);
      for (const stretch of stretchesOf(records, { bytes: REQUEST_BYTES })) {
        await this.use.writer.write(topics.staffAlerts, partition, stretch);
      }
    }
  }

  /** Returns the ids of the alerts in the topic, from the time of the earliest of these alerts on. */
  async #alreadyWritten(alerts: readonly UnpublishedAlert[]): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    if (alerts.length === 0) return found;
    const { connection, positions, topics } = this.use;
    const earliestMs = Math.min(...alerts.map(({ raisedAtMs }) => raisedAtMs));
    const starts = await positions.endsBefore(topics.staffAlerts, earliestMs - CLOCK_SKEW_MS);
    const stretches = [...new Set(alerts.map(({ partition }) => partition))].map((partition) => ({
      topic: topics.staffAlerts,
      partition,
      from: starts.get(partition) ?? 0,
    }));
    await readPartitions(connection, stretches, ({ value }) => {
      const alertId = alertIdIn(value);
      if (alertId !== undefined) found.add(alertId);
    });
    return found;
  }
}
