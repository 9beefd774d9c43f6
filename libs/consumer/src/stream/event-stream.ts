import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, backOffMs, randomFraction } from '../../../api-client/src/index.js';
import type { GaplessEvent } from '../../../event-types/src/index.js';
import type { Cursor } from '../feed/cursor.js';
import { checkPruned, FeedPrunedError, startingSeq, type FeedStart, type OnPruned } from '../feed/feed-start.js';
import type { Feed, FeedPage } from '../feed/feed.js';
import { Bell } from './bell.js';
import type { Dedup } from './dedup.js';
import { readDueAt, type ReadingPace } from './read-due.js';
import { SequenceBuffer } from './sequence-buffer.js';

/** Which way an event came. */
export type EventSource = 'push' | 'feed';

export interface HandlingContext<Transaction> {
  readonly source: EventSource;
  /** The connection to write with, so that your writes and the event's id commit together. */
  readonly transaction: Transaction;
}

export interface EventStreamOptions<Transaction> {
  /** The organization whose events these are; each has a sequence of its own, so each has a stream of its own. */
  readonly orgId: string;
  /** Read with a key of that organization. */
  readonly feed: Feed;
  readonly cursor: Cursor;
  readonly dedup: Dedup<Transaction>;
  /**
   * Handles one event; the next one waits for it. When it throws, it is called again with back-off until it succeeds:
   * an event that is to be passed over has to be caught here.
   */
  readonly handle: (event: GaplessEvent, context: HandlingContext<Transaction>) => void | Promise<void>;
  /** Called when `handle` throws, or when the stores or the feed fail. Everything is retried. */
  readonly onError: (error: unknown, event?: GaplessEvent) => void;
  /** Called with the seq after which the stream begins, once that is known. */
  readonly onReady?: (position: number) => void;
  /** Called before the feed is read, because events after this seq did not come by push. */
  readonly onGap?: (after: number) => void;
  /** As in `readFeed`. */
  readonly onPruned?: OnPruned;
  /** Where to begin while the cursor holds nothing; at the beginning if not given. */
  readonly startAt?: FeedStart;
  /** How long a push may be late before the feed is read instead, milliseconds; 500 if not given. */
  readonly patienceMs?: number;
  /** How often to look for a last event whose push was lost, milliseconds; 30,000 if not given. */
  readonly pollIntervalMs?: number;
  /** How many events may wait for their turn, or to be missed; 5,000 if not given. */
  readonly capacity?: number;
}

interface Held {
  readonly seq: number;
  readonly event: GaplessEvent;
  readonly source: EventSource;
}

const PAGE = 500;
/** How many events are handled before the cursor is stored at the latest. */
const CURSOR_EVERY = 100;
const DEFAULT_PACE: ReadingPace = { patienceMs: 500, pollIntervalMs: 30_000 };
const DEFAULT_CAPACITY = 5_000;

/**
 * Makes one stream of what is pushed and what the feed holds: every event of an organization, in the order of seq, each
 * id handled once. A gap in seq means that a push was lost (contract 7.2): the feed fills it.
 *
 * Give it every push by `push`; run it in one process at a time. An endpoint that is not subscribed to everything leaves
 * gaps by intention: the feed is read for them all the same, and `handle` gets what the endpoint does not.
 */
export class EventStream<Transaction> {
  readonly #options: EventStreamOptions<Transaction>;
  readonly #pace: ReadingPace;
  readonly #pushed: GaplessEvent[] = [];
  readonly #toHandle = new Bell();
  readonly #toRead = new Bell();
  #buffer: SequenceBuffer<Held> | undefined;
  #behindSinceMs: number | undefined;

  constructor(options: EventStreamOptions<Transaction>) {
    this.#options = options;
    this.#pace = {
      patienceMs: options.patienceMs ?? DEFAULT_PACE.patienceMs,
      pollIntervalMs: options.pollIntervalMs ?? DEFAULT_PACE.pollIntervalMs,
    };
  }

  /** The seq of the last event that was handled; `undefined` before `run` knows. */
  get position(): number | undefined {
    return this.#buffer?.handled;
  }

  /**
   * Takes a pushed event, in any order and as often as it comes.
   * @throws RangeError for an event of another organization
   */
  push(event: GaplessEvent): void {
    if (event.org_id !== this.#options.orgId) {
      throw new RangeError(`${event.id} is of organization ${event.org_id}, this stream of ${this.#options.orgId}`);
    }
    if (this.#buffer !== undefined) this.#takePushed(this.#buffer, event);
    // Before `run` has read the cursor; what does not fit here is in the feed.
    else if (this.#pushed.length < this.#capacity) this.#pushed.push(event);
  }

  /**
   * Handles events until the signal is aborted; what is being handled then is brought to its end.
   * @throws ApiError when the feed refuses the request
   * @throws FeedPrunedError without `onPruned`
   */
  async run(signal: AbortSignal): Promise<void> {
    // One of the two ends the other when it fails.
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
      // Both have ended before this one does: nothing is being handled any more.
      await Promise.allSettled(loops);
      await Promise.all(loops);
    } finally {
      this.#buffer = undefined;
    }
  }

  get #capacity(): number {
    return this.#options.capacity ?? DEFAULT_CAPACITY;
  }

  /** `undefined` when aborted before it is known where to begin. */
  async #begin(signal: AbortSignal): Promise<SequenceBuffer<Held> | undefined> {
    const { feed, cursor, startAt = 'beginning', onReady } = this.#options;
    const position = await this.#untilDone(() => startingSeq(feed, cursor, startAt, { signal, retries: 0 }), signal);
    if (position === undefined) return undefined;
    const buffer = new SequenceBuffer<Held>(position, this.#capacity);
    this.#buffer = buffer;
    for (const event of this.#pushed.splice(0)) this.#takePushed(buffer, event);
    onReady?.(position);
    return buffer;
  }

  #takePushed(buffer: SequenceBuffer<Held>, event: GaplessEvent): void {
    buffer.offer({ seq: event.seq, event, source: 'push' });
    this.#toHandle.ring();
    this.#noteGap(buffer);
  }

  /** The wait begins when a gap opens, not with each later event. */
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
        await this.#untilDone(() => cursor.save(buffer.handled), signal);
        // There may be room for the next page.
        this.#toRead.ring();
      } else {
        await this.#toHandle.wait(this.#pace.pollIntervalMs, signal);
      }
    }
  }

  /** @returns whether there was any to handle */
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
        hasMore = await this.#readPage(buffer, signal);
        failures = 0;
        lastReadMs = performance.now();
      } catch (error) {
        if (isAborted(signal)) return;
        this.#throwIfFinal(error);
        this.#options.onError(error);
        restUntilMs = performance.now() + backOffMs(++failures, randomFraction());
      }
    }
  }

  /** @returns whether there are more */
  async #readPage(buffer: SequenceBuffer<Held>, signal: AbortSignal): Promise<boolean> {
    const since = buffer.frontier;
    if (buffer.isBehind) this.#options.onGap?.(since);
    // Pushes continue meanwhile; the caller retries.
    const page = await this.#options.feed.page({ since, limit: PAGE }, { signal, retries: 0 });
    if (page.oldestSeq > since + 1) await this.#skipPruned(buffer, page, signal);
    for (const event of page.events) buffer.add({ seq: event.seq, event, source: 'feed' });
    this.#toHandle.ring();
    // A push can be ahead of the feed: then this page did not help, and the wait begins again.
    this.#behindSinceMs = undefined;
    this.#noteGap(buffer);
    return page.nextSeq !== null;
  }

  /** Present events are handled first. */
  async #skipPruned(buffer: SequenceBuffer<Held>, page: FeedPage, signal: AbortSignal): Promise<void> {
    while (buffer.ready > 0 && !signal.aborted) await this.#toRead.wait(this.#pace.patienceMs, signal);
    if (signal.aborted || page.oldestSeq <= buffer.frontier + 1) return;
    checkPruned(buffer.frontier, page, this.#options.onPruned);
    buffer.skipMissing(page.oldestSeq);
  }

  /** Calls `act` again with back-off until it succeeds; `undefined` when aborted before. */
  async #untilDone<T>(act: () => Promise<T>, signal: AbortSignal, event?: GaplessEvent): Promise<T | undefined> {
    for (let failures = 1; ; failures++) {
      try {
        return await act();
      } catch (error) {
        if (isAborted(signal)) return undefined;
        // What a handler throws is never final, whatever it is.
        if (event === undefined) this.#throwIfFinal(error);
        this.#options.onError(error, event);
        await delay(backOffMs(failures, randomFraction()), undefined, { signal }).catch(() => undefined);
        if (isAborted(signal)) return undefined;
      }
    }
  }

  #throwIfFinal(error: unknown): void {
    if (error instanceof FeedPrunedError || (error instanceof ApiError && error.kind === 'refused')) throw error;
  }
}

/** Asked by way of a function, since it changes while somebody awaits. */
function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
