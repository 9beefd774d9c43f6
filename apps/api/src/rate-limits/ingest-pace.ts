import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { EVENTS_PER_REQUEST, WINDOW_SECONDS } from './rate-limits.js';

/** A request up to this size never waits. */
const SMALL: Load = { events: 20, bytes: 512 * 1024 };
/** The size of the part of a large request that is passed on at once, in milliseconds at the rate of its key. */
const AT_ONCE_MS = 50;
const AT_ONCE = { inMs: 0, takesMs: 0 };
const WINDOW_MS = WINDOW_SECONDS * 1_000;
/** After this many requests, keys whose turn has passed are forgotten. */
const FORGET_EVERY = 10_000;

/** The size of a request. */
interface Load {
  readonly events: number;
  readonly bytes: number;
}

/**
 * Spreads the large requests of a key over time, at its average rates of events and bytes. Otherwise a key could use up
 * its quota at once, and other events would wait until that burst has passed all stages. With the quotas, no request
 * waits for longer than two of their windows.
 */
@Injectable()
export class IngestPace {
  readonly #msPerEvent: number;
  readonly #msPerByte: number;
  readonly #atOnce: Load;
  /** When the turns of a key's earlier requests end; milliseconds of a monotonic clock. */
  readonly #overAt = new Map<string, number>();
  #requests = 0;

  constructor(@Inject(CONFIG) config: Pick<Config, 'rateLimitPerSecond' | 'rateLimitBytesPerSecond'>) {
    this.#msPerEvent = 1_000 / (config.rateLimitPerSecond * EVENTS_PER_REQUEST);
    this.#msPerByte = 1_000 / config.rateLimitBytesPerSecond;
    this.#atOnce = {
      events: Math.max(SMALL.events, Math.floor(AT_ONCE_MS / this.#msPerEvent)),
      bytes: Math.max(SMALL.bytes, Math.floor(AT_ONCE_MS / this.#msPerByte)),
    };
  }

  /**
   * Cuts the events of a request into parts, in order, and yields each when it is its turn.
   * @param bytes the size of the whole request
   */
  async *inTurn<Event>(
    key: string,
    events: readonly Event[],
    bytes: number,
  ): AsyncGenerator<readonly Event[], void, undefined> {
    const parts = Math.ceil(Math.max(events.length / this.#atOnce.events, bytes / this.#atOnce.bytes));
    const size = Math.ceil(events.length / parts);
    const arrivedAt = performance.now();
    const turn = this.take(key, { events: events.length, bytes }, arrivedAt);
    for (let from = 0; from < events.length; from += size) {
      const dueAt = arrivedAt + turn.inMs + (from / events.length) * turn.takesMs - AT_ONCE_MS;
      const waitMs = dueAt - performance.now();
      if (waitMs > 0) await delay(waitMs);
      yield events.slice(from, from + size);
    }
  }

  /** @returns when the turn of a request begins, and how long it takes, in milliseconds */
  take(key: string, { events, bytes }: Load, nowMs: number): { readonly inMs: number; readonly takesMs: number } {
    if (++this.#requests % FORGET_EVERY === 0) this.#forget(nowMs);
    const beginsAt = Math.max(this.#overAt.get(key) ?? nowMs, nowMs);
    // A request with more than the quota of a window is counted as the whole quota.
    const takesMs = Math.min(Math.max(events * this.#msPerEvent, bytes * this.#msPerByte), WINDOW_MS);
    this.#overAt.set(key, beginsAt + takesMs);
    const isSmall = events <= SMALL.events && bytes <= SMALL.bytes;
    return isSmall ? AT_ONCE : { inMs: beginsAt - nowMs, takesMs };
  }

  #forget(nowMs: number): void {
    for (const [key, overAt] of this.#overAt) if (overAt <= nowMs) this.#overAt.delete(key);
  }
}
