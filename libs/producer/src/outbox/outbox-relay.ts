import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { ApiError, backOffMs, isForeign, randomFraction, safely } from '../../../api-client/src/index.js';
import type { EventSink } from '../events/event-sink.js';
import { refuseRow, removeRows, takeRows, type OutboxRow } from './outbox-rows.js';

export interface OutboxRelayOptions {
  readonly dataSource: DataSource;
  /** An `HttpSink`. With a sink whose `repeatsExpire`, an event can be appended twice, and Node prints a warning. */
  readonly sink: EventSink;
  /** Called at once when the relay cannot send. It retries with back-off, or later if the service asks for that. */
  readonly onError: (error: unknown) => void;
  /** Called for an event that the service will never accept. It stays in the table with the reason. */
  readonly onRefused: (eventId: string, error: ApiError) => void;
  /** How often to look for events while there are none, milliseconds; 200 by default. */
  readonly pollIntervalMs?: number;
}

interface Failure {
  readonly error: unknown;
}

const DEFAULT_POLL_INTERVAL_MS = 200;
/** After so many pages of a proxy and no success, the proxy itself is the reason. */
const MAX_STRAYS = 10;
const REPEATS_EXPIRE =
  'This outbox can append an event twice: Gapless knows the ids of its sink for 15 minutes only. Use an HttpSink.';

/**
 * Emits the events that committed transactions have left in the outbox. It emits each organization's events in order.
 * An event that was under way at a stop is sent again with the same id, perhaps hours later. Over HTTP it stays one
 * event, for as long as the feed keeps it. Any number of relays may run; they share the organizations.
 */
export class OutboxRelay {
  constructor(private readonly options: OutboxRelayOptions) {
    if (options.sink.repeatsExpire === true) process.emitWarning(REPEATS_EXPIRE, 'GaplessOutboxWarning');
  }

  /** Relays until the signal is aborted. That ends a request under way; its events still wait, and are sent again. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      let waitMs: number;
      try {
        const relayed = await this.relay(signal);
        failures = 0;
        waitMs = relayed > 0 ? 0 : (this.options.pollIntervalMs ?? DEFAULT_POLL_INTERVAL_MS);
      } catch (error) {
        if (isAborted(signal)) return;
        safely('onError', this.options.onError)(error);
        waitMs = Math.max(retryAfterOf(error), backOffMs(++failures, randomFraction()));
      }
      if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Emits one batch of waiting events.
   * @returns the number of emitted and refused events; 0 when no event waits, or other relays have all of them
   * @throws any error of the sink or the database; then the whole batch still waits
   * @throws the signal's reason once it is aborted
   */
  async relay(signal?: AbortSignal): Promise<number> {
    return this.options.dataSource.transaction(async (manager) => {
      const rows = await takeRows(manager);
      return rows.length === 0 ? 0 : this.#emit(manager, rows, signal);
    });
  }

  async #emit(manager: EntityManager, rows: readonly OutboxRow[], signal: AbortSignal | undefined): Promise<number> {
    const failure = await this.#send(rows, signal);
    if (failure === undefined) await removeRows(manager, rows);
    // A request is refused as a whole, so send the events one by one to find the invalid ones.
    else if (rows.length > 1 && isAboutAnEvent(failure.error)) return this.#emitEach(manager, rows, signal);
    else if (!isRefusal(failure.error)) throw failure.error;
    else for (const row of rows) await this.#refuse(manager, row, failure.error);
    return rows.length;
  }

  async #emitEach(
    manager: EntityManager,
    rows: readonly OutboxRow[],
    signal: AbortSignal | undefined,
  ): Promise<number> {
    let done = 0;
    const waiting = new Map<string, unknown>();
    for (const row of rows) {
      // In the order of its organization: after an event that waits, the later ones wait, too.
      if (waiting.has(row.orgId)) continue;
      const failure = await this.#send([row], signal);
      if (failure === undefined) await removeRows(manager, [row]);
      else if (isRefusal(failure.error)) await this.#refuse(manager, row, failure.error);
      else if (isAboutAnEvent(failure.error) && (done > 0 || waiting.size < MAX_STRAYS)) {
        waiting.set(row.orgId, failure.error);
        continue;
      } else if (done === 0) throw failure.error;
      // Commit the events before it. A service that limits requests would refuse a later one each time.
      else return done;
      done++;
    }
    for (const error of waiting.values()) {
      if (done === 0) throw error;
      safely('onError', this.options.onError)(error);
    }
    return done;
  }

  /** Tries once, because the transaction and its locks stay open meanwhile. */
  async #send(rows: readonly OutboxRow[], signal: AbortSignal | undefined): Promise<Failure | undefined> {
    try {
      await this.options.sink.send(rows, { signal, retries: 0 });
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  async #refuse(manager: EntityManager, row: OutboxRow, error: ApiError): Promise<void> {
    const reasons = error.problems.map(({ pointer, detail }) => `${pointer} ${detail}`);
    await refuseRow(manager, row, [error.message, ...reasons].join('; '));
    safely('onRefused', this.options.onRefused)(row.id, error);
  }
}

/** How long the service asks to wait, milliseconds. */
function retryAfterOf(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}

/** A function, because the compiler would assume that `aborted` stays the same across an `await`. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/**
 * Whether the error may be about one of the events, and not about all requests like a wrong key. Also if a proxy refuses
 * what an event says, or hides the answer of Gapless with a page of its own.
 */
function isAboutAnEvent(error: unknown): boolean {
  return isRefusal(error) || (error instanceof ApiError && isForeign(error) && [403, 422].includes(error.status ?? 0));
}

/**
 * Whether Gapless refuses the event for good. A 422 of a proxy does not say that. A proxy that limits the size of requests
 * answers 413: then fewer events at once may pass it.
 */
function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 413 || (error.status === 422 && !isForeign(error)));
}
