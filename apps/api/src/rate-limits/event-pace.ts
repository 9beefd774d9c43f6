import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { ApiKeyId } from '#libs/domain';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { EVENTS_PER_REQUEST } from './rate-limits.js';

/** A request with so many events is no import, and never waits. */
const SMALL_REQUEST_EVENTS = 20;
/** What a key may send at once before its next large request waits, in time at its rate. */
const AT_ONCE_MS = 250;
/** Keys whose turn has passed are forgotten after so many requests. */
const FORGET_EVERY = 10_000;

/**
 * Spreads the large requests of a key over time, at the rate that it has on average. A quota is used up at once, and what
 * comes in a burst goes through all stages as one: other events of the organization would wait until it has passed.
 * With the quota, no request waits for longer than two of its windows.
 */
@Injectable()
export class EventPace {
  readonly #msPerEvent: number;
  /** When the events of a key that came so far are over, at its rate; milliseconds of a clock that nobody sets. */
  readonly #overAt = new Map<ApiKeyId, number>();
  #requests = 0;

  constructor(@Inject(CONFIG) config: Pick<Config, 'rateLimitPerSecond'>) {
    this.#msPerEvent = 1_000 / (config.rateLimitPerSecond * EVENTS_PER_REQUEST);
  }

  /** Resolves when it is the request's turn. */
  async turn(key: ApiKeyId, events: number): Promise<void> {
    const waitMs = this.take(key, events, performance.now());
    if (waitMs > 0) await delay(waitMs);
  }

  /** @returns how long the request is to wait, milliseconds */
  take(key: ApiKeyId, events: number, nowMs: number): number {
    if (++this.#requests % FORGET_EVERY === 0) this.#forget(nowMs);
    const beganAt = Math.max(this.#overAt.get(key) ?? nowMs, nowMs);
    this.#overAt.set(key, beganAt + events * this.#msPerEvent);
    return events <= SMALL_REQUEST_EVENTS ? 0 : Math.max(0, beganAt - nowMs - AT_ONCE_MS);
  }

  #forget(nowMs: number): void {
    for (const [key, overAt] of this.#overAt) if (overAt <= nowMs) this.#overAt.delete(key);
  }
}
