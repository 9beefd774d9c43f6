import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { ApiError, backOffMs, randomFraction } from '../../../api-client/src/index.js';
import type { EventSink } from '../events/event-sink.js';
import { refuseRow, removeRows, takeRows, type OutboxRow } from './outbox-rows.js';

export interface OutboxRelayOptions {
  readonly dataSource: DataSource;
  readonly sink: EventSink;
  /** Called when the relay cannot send. It retries with back-off. */
  readonly onError: (error: unknown) => void;
  /** Called for an event that the service will never accept. It stays in the table with the reason. */
  readonly onRefused: (eventId: string, error: ApiError) => void;
  /** How often to look for events when there were none, milliseconds; 200 if not given. */
  readonly pollIntervalMs?: number;
}

const DEFAULT_POLL_INTERVAL_MS = 200;

/**
 * Emits what committed transactions have left in the outbox: each organization's events in order, each at least once,
 * and as one event since its id stays. Any number of relays may run; they share the organizations among each other.
 */
export class OutboxRelay {
  constructor(private readonly options: OutboxRelayOptions) {}

  /** Relays until the signal is aborted; what is being sent then is brought to its end. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      let waitMs: number;
      try {
        const relayed = await this.relay();
        failures = 0;
        waitMs = relayed > 0 ? 0 : (this.options.pollIntervalMs ?? DEFAULT_POLL_INTERVAL_MS);
      } catch (error) {
        this.options.onError(error);
        waitMs = backOffMs(++failures, randomFraction());
      }
      if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Emits one batch of what waits.
   * @returns how many events that were; 0 when none waits that no other relay is at
   * @throws what the sink or the database throws; then all of it waits still
   */
  async relay(): Promise<number> {
    return this.options.dataSource.transaction(async (manager) => {
      const rows = await takeRows(manager);
      if (rows.length > 0) await this.#emit(manager, rows);
      return rows.length;
    });
  }

  async #emit(manager: EntityManager, rows: readonly OutboxRow[]): Promise<void> {
    try {
      await this.options.sink.send(rows);
      await removeRows(manager, rows);
    } catch (error) {
      if (!isAboutTheEvents(error)) throw error;
      // A request is refused whole: one by one, those that are at fault are found.
      if (rows.length > 1) for (const row of rows) await this.#emit(manager, [row]);
      else for (const row of rows) await this.#refuse(manager, row, error);
    }
  }

  async #refuse(manager: EntityManager, row: OutboxRow, error: ApiError): Promise<void> {
    const reasons = error.problems.map(({ pointer, detail }) => `${pointer} ${detail}`);
    await refuseRow(manager, row, [error.message, ...reasons].join('; '));
    this.options.onRefused(row.id, error);
  }
}

/** Validation alone is: that a key or an address is wrong is not the events' fault. */
function isAboutTheEvents(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 422 || error.status === 413);
}
