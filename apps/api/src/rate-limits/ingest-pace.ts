import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';
import { PartTempo } from './part-tempo.js';
import { EVENTS_PER_REQUEST, WINDOW_SECONDS } from './rate-limits.js';

/** A request up to this size never waits. */
const SMALL: Load = { events: 20, bytes: 512 * 1024 };
/** The size of the part of a large request that is passed on at once, in milliseconds at the rate of its key. */
const AT_ONCE_MS = 50;
/**
 * The size of a part on a busy machine, likewise. Requests up to this size do not wait for a busy machine, and neither do
 * those of one part from a key that has sent nothing large just before.
 */
const BUSY_MS = 10;
/** The shortest wait before a part, milliseconds: its timer shows how busy the thread is. */
const SHORTEST_WAIT_MS = 1;
const AT_ONCE = { inMs: 0, takesMs: { events: 0, bytes: 0 } };
const WINDOW_MS = WINDOW_SECONDS * 1_000;
/** A request that has come this long ago does not wait for a busy machine any more, but only for its turn. */
const YIELDS_FOR_MS = 10_000;
/** After this many requests, keys whose turn has passed are forgotten. */
const FORGET_EVERY = 10_000;

/** The size of a request. */
interface Load {
  readonly events: number;
  readonly bytes: number;
}

/** A time for events, and one for bytes. */
type Times = Record<keyof Load, number>;
const KINDS = ['events', 'bytes'] as const;

/**
 * The requests of a key. Times in milliseconds of a monotonic clock. Events and bytes have times of their own, as they have
 * quotas of their own: with one time for both, requests of many events and others of many bytes would add up to more than
 * a key may send, and wait ever longer.
 */
interface Turns {
  /** When the turns of earlier requests end, at the rates of the key. */
  readonly overAt: Times;
  /** When the next part may begin. */
  readonly nextAt: Times;
  /** Resolves once the last parts of all earlier large requests have begun. */
  earlier: Promise<void>;
}

/**
 * Spreads the large requests of a key over time, at its average rates of events and bytes. Otherwise a key could use up
 * its quota at once, and other events would wait until that burst has passed all stages. While the machine is busy, the
 * parts of large requests become smaller and slower (`PartTempo`).
 */
@Injectable()
export class IngestPace {
  readonly #msPerEvent: number;
  readonly #msPerByte: number;
  readonly #atOnce: Load;
  readonly #fewest: number;
  readonly #tempo: PartTempo;
  readonly #turns = new Map<string, Turns>();
  #requests = 0;

  constructor(@Inject(CONFIG) config: Pick<Config, 'rateLimitPerSecond' | 'rateLimitBytesPerSecond'>) {
    this.#msPerEvent = 1_000 / (config.rateLimitPerSecond * EVENTS_PER_REQUEST);
    this.#msPerByte = 1_000 / config.rateLimitBytesPerSecond;
    this.#atOnce = {
      events: Math.max(SMALL.events, Math.floor(AT_ONCE_MS / this.#msPerEvent)),
      bytes: Math.max(SMALL.bytes, Math.floor(AT_ONCE_MS / this.#msPerByte)),
    };
    this.#fewest = Math.max(SMALL.events, Math.floor(BUSY_MS / this.#msPerEvent));
    this.#tempo = new PartTempo(this.#fewest, this.#atOnce.events);
  }

  /**
   * Cuts the events of a request into parts, in order, and yields each when it is its turn. The caller takes the next
   * one when the last one is acknowledged.
   * @param bytes the size of the whole request
   */
  async *inTurn<Event>(
    key: string,
    events: readonly Event[],
    bytes: number,
  ): AsyncGenerator<readonly Event[], void, undefined> {
    const load = { events: events.length, bytes };
    const arrivedAt = performance.now();
    const turn = this.take(key, load, arrivedAt);
    if (isSmall(load)) {
      yield events;
      return;
    }
    const turns = this.#of(key, arrivedAt);
    const { earlier } = turns;
    let passOn: () => void = () => undefined;
    turns.earlier = new Promise((resolve) => {
      passOn = resolve;
    });
    const most = turn.inMs === 0 ? this.#atOnce.events : this.#fewest;
    const isModest = events.length <= most;
    const yieldsUntil = isModest ? -Infinity : arrivedAt + YIELDS_FOR_MS;
    const mostByBytes = Math.max(1, Math.floor((events.length * this.#atOnce.bytes) / bytes));
    try {
      await earlier;
      const { nextAt } = turns;
      for (const kind of KINDS) nextAt[kind] = Math.max(nextAt[kind], arrivedAt + turn.inMs - AT_ONCE_MS);
      for (let from = 0; from < events.length;) {
        const dueAt = Math.max(nextAt.events, nextAt.bytes, Math.min(this.#tempo.restsUntilMs, yieldsUntil));
        const lateMs = await until(dueAt, isModest ? 0 : SHORTEST_WAIT_MS);
        const beganAt = performance.now();
        this.#tempo.fired(lateMs, beganAt);
        const size = beganAt < yieldsUntil ? this.#tempo.size : this.#atOnce.events;
        const part = events.slice(from, from + Math.min(size, mostByBytes));
        from += part.length;
        for (const kind of KINDS) {
          nextAt[kind] =
            Math.max(nextAt[kind], beganAt - AT_ONCE_MS) + (part.length / events.length) * turn.takesMs[kind];
        }
        if (from === events.length) passOn();
        yield part;
        const now = performance.now();
        this.#tempo.took(now - beganAt, now);
      }
    } finally {
      // The next one waits for those before this one, even if this one fails before its turn.
      void earlier.then(passOn);
    }
  }

  /** @returns when the turn of a request begins, and how long it takes, in milliseconds */
  take(key: string, load: Load, nowMs: number): { readonly inMs: number; readonly takesMs: Readonly<Times> } {
    if (++this.#requests % FORGET_EVERY === 0) this.#forget(nowMs);
    const turns = this.#of(key, nowMs);
    const beginsAt = Math.max(turns.overAt.events, turns.overAt.bytes, nowMs);
    // A request with more than the quota of a window is counted as the whole quota.
    const takesMs = {
      events: Math.min(load.events * this.#msPerEvent, WINDOW_MS),
      bytes: Math.min(load.bytes * this.#msPerByte, WINDOW_MS),
    };
    for (const kind of KINDS) turns.overAt[kind] = Math.max(turns.overAt[kind], nowMs) + takesMs[kind];
    return isSmall(load) ? AT_ONCE : { inMs: beginsAt - nowMs, takesMs };
  }

  #of(key: string, nowMs: number): Turns {
    let turns = this.#turns.get(key);
    if (turns === undefined) {
      turns = {
        overAt: { events: nowMs, bytes: nowMs },
        nextAt: { events: -Infinity, bytes: -Infinity },
        earlier: Promise.resolve(),
      };
      this.#turns.set(key, turns);
    }
    return turns;
  }

  #forget(nowMs: number): void {
    for (const [key, { overAt }] of this.#turns) {
      if (Math.max(overAt.events, overAt.bytes) + YIELDS_FOR_MS <= nowMs) this.#turns.delete(key);
    }
  }
}

function isSmall({ events, bytes }: Load): boolean {
  return events <= SMALL.events && bytes <= SMALL.bytes;
}

/** @returns how late the timer fired, milliseconds; 0 without a wait */
async function until(atMs: number, shortestMs: number): Promise<number> {
  const nowMs = performance.now();
  const dueAt = Math.max(atMs, nowMs + shortestMs);
  if (dueAt <= nowMs) return 0;
  await delay(dueAt - nowMs);
  return performance.now() - dueAt;
}
