import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { ApiKeyId } from '#libs/domain';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { EVENTS_PER_REQUEST, WINDOW_SECONDS } from './rate-limits.js';

/** A request with so many events and bytes is no import, and never waits. */
const SMALL_REQUEST_EVENTS = 20;
const SMALL_REQUEST_BYTES = 512 * 1024;
/** What a key may send at once before its next large request waits, in time at its rate. */
const AT_ONCE_MS = 250;
/** Keys whose turn has passed are forgotten after so many requests. */
const FORGET_EVERY = 10_000;

/** What a request brings. */
interface Load {
  readonly events: number;
  readonly bytes: number;
}

/**
 * Spreads the large requests of a key over time, at the rates of events and bytes that it has on average. A quota is used up
 * at once, and what comes in a burst goes through all stages as one: other events would wait until it has passed. With the
 * quotas, no request waits for longer than two of their windows.
 */
@Injectable()
export class IngestPace {
  readonly #msPerEvent: number;
  readonly #msPerByte: number;
  /** When what came so far of a key is over, at its rates; milliseconds of a clock that nobody sets. */
  readonly #overAt = new Map<ApiKeyId, number>();
  #requests = 0;

  constructor(@Inject(CONFIG) config: Pick<Config, 'rateLimitPerSecond' | 'rateLimitBytesPerSecond'>) {
    this.#msPerEvent = 1_000 / (config.rateLimitPerSecond * EVENTS_PER_REQUEST);
    this.#msPerByte = 1_000 / config.rateLimitBytesPerSecond;
  }

  /** Resolves when it is the request's turn. */
  async turn(key: ApiKeyId, events: number, bytes: number): Promise<void> {
    const waitMs = this.take(key, { events, bytes }, performance.now());
    if (waitMs > 0) await delay(waitMs);
  }

  /** @returns how long the request is to wait, milliseconds */
  take(key: ApiKeyId, { events, bytes }: Load, nowMs: number): number {
    if (++this.#requests % FORGET_EVERY === 0) this.#forget(nowMs);
    const beganAt = Math.max(this.#overAt.get(key) ?? nowMs, nowMs);
    // A request with more than the quota of a window is counted as the whole quota.
    const takesMs = Math.min(Math.max(events * this.#msPerEvent, bytes * this.#msPerByte), WINDOW_SECONDS * 1_000);
    this.#overAt.set(key, beganAt + takesMs);
    if (events <= SMALL_REQUEST_EVENTS && bytes <= SMALL_REQUEST_BYTES) return 0;
    return Math.max(0, beganAt - nowMs - AT_ONCE_MS);
  }

  #forget(nowMs: number): void {
    for (const [key, overAt] of this.#overAt) if (overAt <= nowMs) this.#overAt.delete(key);
  }
}
