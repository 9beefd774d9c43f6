import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, backOffMs, randomFraction, safely } from '../../../api-client/src/index.js';
import type { GaplessEvent } from '../../../event-types/src/index.js';
import type { Cursor } from '../feed/cursor.js';
import { FeedGapError } from '../feed/feed-gap.js';
import {
  checkPruned,
  FeedPrunedError,
  startingPoint,
  type FeedStart,
  type OnPruned,
  type StartingPoint,
} from '../feed/feed-start.js';
import type { Feed, FeedPage, FeedQuery, FeedRequestOptions } from '../feed/feed.js';
import { ResetWatch } from '../feed/reset-watch.js';
import { saveAtStop } from '../feed/save-at-stop.js';
import { Bell } from './bell.js';
import type { Dedup } from './dedup.js';
import { readDueAt, type ReadingPace } from './read-due.js';
import { SequenceBuffer } from './sequence-buffer.js';

/** How an event arrived. */
export type EventSource = 'push' | 'feed';

export interface HandlingContext<Transaction> {
  readonly source: EventSource;
  /** The connection to write with, so that your writes and the event's id commit together. */
  readonly transaction: Transaction;
}

export interface EventStreamOptions<Transaction> {
  /** The organization of the stream. Each organization has its own sequence, so each needs its own stream. */
  readonly orgId: string;
  /** The feed, read with an API key of that organization. */
  readonly feed: Feed;
  readonly cursor: Cursor;
  readonly dedup: Dedup<Transaction>;
  /**
   * Handles one event; the next one waits for it. If it throws, the stream calls it again with back-off until it
   * succeeds. To skip an event, catch its error here. After a failed SQL statement, also roll back to a savepoint.
   */
  readonly handle: (event: GaplessEvent, context: HandlingContext<Transaction>) => void | Promise<void>;
  /**
   * Called when `handle`, a store or the feed fails. The stream retries all of them. Also called with a FeedResetError
   * while the position stays ahead of the feed, and with a FeedGapError while the feed lacks the next event.
   */
  readonly onError: (error: unknown, event?: GaplessEvent) => void;
  /** Called with the seq after which the stream begins, once that is known. */
  readonly onReady?: (position: number) => void;
  /** Called before the stream reads the feed because pushes after this seq are missing. */
  readonly onGap?: (after: number) => void;
  /** As in `readFeed`. */
  readonly onPruned?: OnPruned;
  /** Where to begin if the cursor holds no position; at the beginning by default. */
  readonly startAt?: FeedStart;
  /** How late a push may be before the stream reads the feed, milliseconds; 500 by default. */
  readonly patienceMs?: number;
  /** How often to check the feed for a newest event whose push was lost, milliseconds; 30,000 by default. */
  readonly pollIntervalMs?: number;
  /** How many events to keep in memory while they wait for earlier ones; 5,000 by default. */
  readonly capacity?: number;
  /**
   * How long the position may be ahead of the feed before `onError` gets a FeedResetError, and how often it gets one,
   * milliseconds; 60,000 by default. Pushed events are handled meanwhile.
   */
  readonly resetAfterMs?: number;
}

/** An event is of another organization than the stream. */
export class WrongOrganizationError extends RangeError {
  override readonly name = 'WrongOrganizationError';
}

interface Held {
  readonly seq: number;
  readonly event: GaplessEvent;
  readonly source: EventSource;
}

const PAGE = 500;
/** The stream stores the cursor after this many events at the latest. */
const CURSOR_EVERY = 100;
const DEFAULT_PACE: ReadingPace = { patienceMs: 500, pollIntervalMs: 30_000 };
const DEFAULT_CAPACITY = 5_000;

/**
 * Merges pushes and the feed into one stream: every event of an organization once, in the order of seq. A gap in seq
 * means that a push was lost (contract 7.2), and the stream reads the missing events from the feed.
 *
 * Pass each push to `push`, and run the stream in one process at a time. If the endpoint subscribes to some events
 * only, the stream reads the others from the feed, and `handle` gets them too.
 */
export class EventStream<Transaction> {
  readonly #options: EventStreamOptions<Transaction>;
  readonly #orgId: string;
  /** The feed, whose events are checked to be of the organization. */
  readonly #feed: Feed;
  readonly #pace: ReadingPace;
  readonly #pushed: GaplessEvent[] = [];
  readonly #toHandle = new Bell();
  readonly #toRead = new Bell();
  readonly #onError: (error: unknown, event?: GaplessEvent) => void;
  readonly #onReady: (position: number) => void;
  readonly #onGap: (after: number) => void;
  #buffer: SequenceBuffer<Held> | undefined;
  #begun: StartingPoint = { seq: 0, isStored: false };
  #behindSinceMs: number | undefined;

  constructor(options: EventStreamOptions<Transaction>) {
    this.#options = options;
    // A UUID may be written in capitals. Events have it in small letters.
    this.#orgId = options.orgId.toLowerCase();
    this.#feed = { page: (query, request) => this.#ownPage(query, request) };
    this.#onError = safely('onError', options.onError);
    this.#onReady = safely('onReady', options.onReady);
    this.#onGap = safely('onGap', options.onGap);
    this.#pace = {
      patienceMs: options.patienceMs ?? DEFAULT_PACE.patienceMs,
      pollIntervalMs: options.pollIntervalMs ?? DEFAULT_PACE.pollIntervalMs,
    };
  }

  /** The seq of the last event that was handled; `undefined` before `run` has loaded the cursor. */
  get position(): number | undefined {
    return this.#buffer?.handled;
  }

  /**
   * Takes a pushed event, in any order; repeated events are fine.
   * @throws WrongOrganizationError
   */
  push(event: GaplessEvent): void {
    this.#checkOrganization(event, 'is the endpoint of another organization?');
    if (this.#buffer !== undefined) this.#takePushed(this.#buffer, event);
    // `run` has not loaded the cursor yet. Events beyond the capacity are read from the feed later.
    else if (this.#pushed.length < this.#capacity) this.#pushed.push(event);
  }

  /**
   * Handles events until the signal is aborted, and finishes the event that is being handled then.
   * @throws ApiError when the feed refuses the request
   * @throws FeedPrunedError without `onPruned`
   * @throws WrongOrganizationError when the feed is of another organization
   */
  async run(signal: AbortSignal): Promise<void> {
    // If one of the two loops fails, the other one stops.
    const failure = new AbortController();
    const either = AbortSignal.any([signal, failure.signal]);
    try {
      const buffer = await this.#begin(either);
      if (buffer === undefined) return;
      const ending = (error: unknown): never => {
        failure.abort(error);
        throw error;
      };
      const loops = [this.#read(buffer, either).catch(ending), this.#handle(buffer, either).catch(ending)];
      // Wait for both loops, so that no event is being handled when this returns.
      await Promise.allSettled(loops);
      await Promise.all(loops);
    } finally {
      this.#buffer = undefined;
    }
  }

  get #capacity(): number {
    return this.#options.capacity ?? DEFAULT_CAPACITY;
  }

  /** Returns the buffer, starting at the stored position; `undefined` when aborted before the position is known. */
  async #begin(signal: AbortSignal): Promise<SequenceBuffer<Held> | undefined> {
    const { cursor, startAt = 'beginning' } = this.#options;
    const start = () => startingPoint(this.#feed, cursor, startAt, { signal, retries: 0 });
    const begun = await this.#untilDone(start, signal);
    if (begun === undefined) return undefined;
    const buffer = new SequenceBuffer<Held>(begun.seq, this.#capacity);
    this.#begun = begun;
    this.#buffer = buffer;
    for (const event of this.#pushed.splice(0)) this.#takePushed(buffer, event);
    this.#onReady(begun.seq);
    return buffer;
  }

  #takePushed(buffer: SequenceBuffer<Held>, event: GaplessEvent): void {
    buffer.offer({ seq: event.seq, event, source: 'push' });
    this.#toHandle.ring();
    this.#noteGap(buffer);
  }

  /** Starts the wait when a gap opens, not again with each later event. */
  #noteGap(buffer: SequenceBuffer<Held>): void {
    if (!buffer.isBehind) this.#behindSinceMs = undefined;
    else if (this.#behindSinceMs === undefined) {
      this.#behindSinceMs = performance.now();
      this.#toRead.ring();
    }
  }

  async #handle(buffer: SequenceBuffer<Held>, signal: AbortSignal): Promise<void> {
    const { cursor } = this.#options;
    while (!signal.aborted) {
      if (await this.#handleSome(buffer, signal)) {
        const save = async () => {
          await cursor.save(buffer.handled, { signal, retries: 0 });
          return true;
        };
        if ((await this.#untilDone(save, signal)) !== true) await saveAtStop(cursor, buffer.handled);
        // There may be room for the next page.
        this.#toRead.ring();
      } else {
        await this.#toHandle.wait(this.#pace.pollIntervalMs, signal);
      }
    }
  }

  /** @returns whether there was an event to handle */
  async #handleSome(buffer: SequenceBuffer<Held>, signal: AbortSignal): Promise<boolean> {
    const before = buffer.handled;
    while (buffer.handled < before + CURSOR_EVERY && !signal.aborted) {
      const held = buffer.next();
      if (held === undefined || !(await this.#handleOne(held, signal))) break;
      buffer.advance();
    }
    return buffer.handled > before;
  }

  /** @returns false when aborted before it succeeded */
  async #handleOne({ event, source }: Held, signal: AbortSignal): Promise<boolean> {
    const { dedup, handle } = this.#options;
    const done = await this.#untilDone(
      async () => {
        await dedup.once(event, async (transaction) => {
          await handle(event, { source, transaction });
        });
        return true;
      },
      signal,
      event,
    );
    return done === true;
  }

  async #read(buffer: SequenceBuffer<Held>, signal: AbortSignal): Promise<void> {
    const reset = new ResetWatch(this.#options.resetAfterMs);
    let lastReadMs: number | undefined;
    let hasMore = false;
    let restUntilMs = 0;
    let failures = 0;
    while (!signal.aborted) {
      const state = { lastReadMs, behindSinceMs: this.#behindSinceMs, hasMore, restUntilMs };
      const waitMs = readDueAt(state, this.#pace) - performance.now();
      if (waitMs > 0 || buffer.ready >= PAGE) {
        await this.#toRead.wait(waitMs > 0 ? waitMs : this.#pace.pollIntervalMs, signal);
        continue;
      }
      try {
        hasMore = await this.#readPage(buffer, reset, signal);
        failures = 0;
        lastReadMs = performance.now();
      } catch (error) {
        if (isAborted(signal)) return;
        this.#throwIfFinal(error);
        this.#onError(error);
        restUntilMs = performance.now() + retryWaitMs(error, ++failures);
      }
    }
  }

  /**
   * @returns whether there are more pages
   * @throws FeedGapError when the page has events after one that is missing; those before it are handled
   */
  async #readPage(buffer: SequenceBuffer<Held>, reset: ResetWatch, signal: AbortSignal): Promise<boolean> {
    const since = buffer.frontier;
    if (buffer.isBehind) this.#onGap(since);
    // Pushes keep arriving during the request. The caller retries it.
    const page = await this.#feed.page({ since, limit: PAGE }, { signal, retries: 0 });
    const error = reset.check(since, page);
    // Not the end: while the feed is late for long, pushes still come in order.
    if (error !== undefined) this.#onError(error);
    if (page.oldestSeq > since + 1) await this.#skipPruned(buffer, page, signal);
    for (const event of page.events) buffer.add({ seq: event.seq, event, source: 'feed' });
    this.#toHandle.ring();
    // A push can arrive before its event is in the feed. This page did not fill the gap, so wait again.
    this.#behindSinceMs = undefined;
    this.#noteGap(buffer);
    const later = page.events.find(({ seq }) => seq > buffer.frontier);
    if (later !== undefined) throw new FeedGapError(buffer.frontier, later.seq);
    return page.nextSeq !== null;
  }

  /** @throws WrongOrganizationError before the position depends on the page */
  async #ownPage(query: FeedQuery, request: FeedRequestOptions | undefined): Promise<FeedPage> {
    const page = await this.#options.feed.page(query, request);
    for (const event of page.events) this.#checkOrganization(event, "is the feed's API key of another organization?");
    return page;
  }

  #checkOrganization(event: GaplessEvent, question: string): void {
    const { id, org_id: other } = event;
    if (other === this.#orgId) return;
    throw new WrongOrganizationError(`${id} is of organization ${other}, this stream of ${this.#orgId}: ${question}`);
  }

  /** Handles the events that are ready before it skips the removed ones. */
  async #skipPruned(buffer: SequenceBuffer<Held>, page: FeedPage, signal: AbortSignal): Promise<void> {
    while (buffer.ready > 0 && !signal.aborted) await this.#toRead.wait(this.#pace.patienceMs, signal);
    if (signal.aborted || page.oldestSeq <= buffer.frontier + 1) return;
    checkPruned(buffer.frontier, this.#begun, page, this.#options.onPruned);
    buffer.skipMissing(page.oldestSeq);
  }

  /**
   * Calls `act` again, as `Retry-After` says or with back-off, until it succeeds.
   * @returns `undefined` when aborted before that
   */
  async #untilDone<T>(act: () => Promise<T>, signal: AbortSignal, event?: GaplessEvent): Promise<T | undefined> {
    for (let failures = 1; ; failures++) {
      try {
        return await act();
      } catch (error) {
        if (isAborted(signal)) return undefined;
        // An error of the handler is always retried.
        if (event === undefined) this.#throwIfFinal(error);
        this.#onError(error, event);
        await delay(retryWaitMs(error, failures), undefined, { signal }).catch(() => undefined);
        if (isAborted(signal)) return undefined;
      }
    }
  }

  #throwIfFinal(error: unknown): void {
    if (error instanceof FeedPrunedError || error instanceof WrongOrganizationError) throw error;
    if (error instanceof ApiError && error.kind === 'refused') throw error;
  }
}

/** Returns the wait after the nth failure in a row, milliseconds: as long as the service asks for, and the back-off at least. */
function retryWaitMs(error: unknown, failures: number): number {
  const askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(askedMs, backOffMs(failures, randomFraction()));
}

/** A function, because the compiler would assume that `aborted` stays the same across an `await`. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
