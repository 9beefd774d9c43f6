import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, EntityManager } from 'typeorm';
import { ApiError, backOffMs, isForeign, randomFraction, safely } from '../../../api-client/src/index.js';
import type { EventSink } from '../events/event-sink.js';
import { refuseRow, removeRows, takeFirstRow, takeRows, type OutboxRow } from './outbox-rows.js';
import { WaitingOrgs } from './waiting-orgs.js';

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

interface Relayed {
  /** The number of emitted and refused events. */
  readonly done: number;
  /** Why organizations wait. */
  readonly strays: readonly unknown[];
}

const DEFAULT_POLL_INTERVAL_MS = 200;
/** After so many pages of a proxy and no success, the proxy itself is the reason. */
const MAX_STRAYS = 10;
/** What a proxy answers to every request: the base URL has moved, a login is missing, or it is busy. */
const ABOUT_ALL: readonly number[] = [301, 308, 401, 407, 408, 429];
const REPEATS_EXPIRE =
  'This outbox can append an event twice: Gapless knows the ids of its sink for 15 minutes only. Use an HttpSink.';

/**
 * Emits the events that committed transactions have left in the outbox. It emits each organization's events in order.
 * An event that was under way at a stop is sent again with the same id, perhaps hours later. Over HTTP it stays one
 * event, for as long as the feed keeps it. Any number of relays may run; they share the organizations.
 */
export class OutboxRelay {
  readonly #waiting = new WaitingOrgs();

  constructor(private readonly options: OutboxRelayOptions) {
    if (options.sink.repeatsExpire === true) process.emitWarning(REPEATS_EXPIRE, 'GaplessOutboxWarning');
  }

  /** Relays until the signal is aborted. That ends a request under way; its events still wait, and are sent again. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      let waitMs: number;
      try {
        const { done, strays } = await this.#relay(signal);
        for (const error of strays) this.#report(error);
        failures = 0;
        waitMs = done > 0 ? 0 : (this.options.pollIntervalMs ?? DEFAULT_POLL_INTERVAL_MS);
      } catch (error) {
        if (isAborted(signal)) return;
        this.#report(error);
        waitMs = Math.max(retryAfterOf(error), backOffMs(++failures, randomFraction()));
      }
      if (waitMs > 0) await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /**
   * Emits one batch of waiting events. An organization whose event a proxy refuses is left out until it is tried again.
   * @returns the number of emitted and refused events; 0 when no event is due, or other relays have all of them
   * @throws any error of the sink or the database; then the events of that request still wait
   * @throws the signal's reason once it is aborted
   */
  async relay(signal?: AbortSignal): Promise<number> {
    const { done, strays } = await this.#relay(signal);
    if (done === 0 && strays.length > 0) throw strays[0];
    for (const error of strays) this.#report(error);
    return done;
  }

  async #relay(signal: AbortSignal | undefined): Promise<Relayed> {
    const batch = await this.#take((manager) => takeRows(manager, this.#waiting.ids), signal);
    const orgId = this.#waiting.due();
    if (orgId === undefined) return batch;
    // One alone, and only its next event: if that is refused again, no other event was in the request.
    const again = await this.#take((manager) => takeFirstRow(manager, orgId), signal);
    if (again.strays.length === 0) this.#waiting.remove(orgId);
    return { done: batch.done + again.done, strays: [...batch.strays, ...again.strays] };
  }

  async #take(
    take: (manager: EntityManager) => Promise<readonly OutboxRow[]>,
    signal: AbortSignal | undefined,
  ): Promise<Relayed> {
    return this.options.dataSource.transaction(async (manager) => this.#emit(manager, await take(manager), signal));
  }

  async #emit(manager: EntityManager, rows: readonly OutboxRow[], signal: AbortSignal | undefined): Promise<Relayed> {
    const [first, ...others] = rows;
    if (first === undefined) return { done: 0, strays: [] };
    const failure = await this.#send(rows, signal);
    if (failure === undefined) await removeRows(manager, rows);
    // A request is refused as a whole, so send the events one by one to find the invalid ones.
    else if (others.length > 0 && isAboutAnEvent(failure.error)) return this.#emitEach(manager, rows, signal);
    else if (isRefusal(failure.error)) await this.#refuse(manager, first, failure.error);
    else if (isAboutAnEvent(failure.error)) {
      this.#waiting.add(first.orgId, retryAfterOf(failure.error));
      return { done: 0, strays: [failure.error] };
    } else throw failure.error;
    return { done: rows.length, strays: [] };
  }

  async #emitEach(
    manager: EntityManager,
    rows: readonly OutboxRow[],
    signal: AbortSignal | undefined,
  ): Promise<Relayed> {
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
        this.#waiting.add(row.orgId, retryAfterOf(failure.error));
        continue;
      } else if (done === 0) throw failure.error;
      // Commit the events before it. A service that limits requests would refuse a later one each time.
      else break;
      done++;
    }
    return { done, strays: [...waiting.values()] };
  }

  #report(error: unknown): void {
    safely('onError', this.options.onError)(error);
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
 * what an event says, or hides the answer of Gapless with a page of its own. It may choose any status for that.
 */
function isAboutAnEvent(error: unknown): boolean {
  if (isRefusal(error)) return true;
  if (!(error instanceof ApiError) || !isForeign(error)) return false;
  const { status = 0 } = error;
  return status >= 200 && status < 500 && !ABOUT_ALL.includes(status);
}

/** Whether Gapless refuses the event for good. A proxy does not: its limits and rules can be changed. */
function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 413 || error.status === 422) && !isForeign(error);
}
