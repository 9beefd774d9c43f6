import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { ApiError, backOffMs, randomFraction, safely } from '../../../api-client/src/index.js';
import type { EventSink } from '../events/event-sink.js';
import { refuseRow, removeRows, takeRows, type OutboxRow } from './outbox-rows.js';

export interface OutboxRelayOptions {
  readonly dataSource: DataSource;
  readonly sink: EventSink;
  /** Called when the relay cannot send. It retries with back-off. */
  readonly onError: (error: unknown) => void;
  /** Called for an event that the service will never accept. It stays in the table with the reason. */
  readonly onRefused: (eventId: string, error: ApiError) => void;
  /** How often to look for events while there are none, milliseconds; 200 by default. */
  readonly pollIntervalMs?: number;
}

const DEFAULT_POLL_INTERVAL_MS = 200;

/**
 * Emits the events that committed transactions have left in the outbox. It emits each organization's events in order.
 * An event that is sent again keeps its id, so it stays one event. Any number of relays may run; they share the
 * organizations.
 */
export class OutboxRelay {
  constructor(private readonly options: OutboxRelayOptions) {}

  /** Relays until the signal is aborted, and finishes the current batch. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      let waitMs: number;
      try {
        const relayed = await this.relay();
        failures = 0;
        waitMs = relayed > 0 ? 0 : (this.options.pollIntervalMs ?? DEFAULT_POLL_INTERVAL_MS);
      } catch (error) {
        safely('onError', this.options.onError)(error);
        waitMs = backOffMs(++failures, randomFraction());
      }
      if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Emits one batch of waiting events.
   * @returns the number of emitted events; 0 when no event waits, or other relays have all of them
   * @throws any error of the sink or the database; then the whole batch still waits
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
      // A request is refused as a whole, so send the events one by one to find the invalid ones.
      if (rows.length > 1) for (const row of rows) await this.#emit(manager, [row]);
      else for (const row of rows) await this.#refuse(manager, row, error);
    }
  }

  async #refuse(manager: EntityManager, row: OutboxRow, error: ApiError): Promise<void> {
    const reasons = error.problems.map(({ pointer, detail }) => `${pointer} ${detail}`);
    await refuseRow(manager, row, [error.message, ...reasons].join('; '));
    safely('onRefused', this.options.onRefused)(row.id, error);
  }
}

/** Whether the error is about the events. A wrong key or address, for example, is not. */
function isAboutTheEvents(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 422 || error.status === 413);
}
