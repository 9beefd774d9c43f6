import crypto, { type UUID } from 'node:crypto';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { performance } from 'node:perf_hooks';
import type { Random } from './random.js';
import type { Actor, ScheduledEvent, VirtualTime } from './virtual-time.js';

/** Intervals below this are as good at this: what polls every 10 ms would be most of a history. */
const SHORTEST_INTERVAL_MS = 250;

interface History {
  readonly time: VirtualTime;
  readonly random: Random;
}

/** What `setTimeout` and `setInterval` return. */
class VirtualTimer {
  #event: ScheduledEvent;

  constructor(
    private readonly time: VirtualTime,
    private readonly actor: Actor,
    private readonly delayMs: number,
    private readonly repeats: boolean,
    private readonly act: () => void,
  ) {
    this.#event = this.#schedule();
  }

  clear(): void {
    this.#event.run = null;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  refresh(): this {
    this.clear();
    this.#event = this.#schedule();
    return this;
  }

  [Symbol.dispose](): void {
    this.clear();
  }

  #schedule(): ScheduledEvent {
    return this.time.schedule(this.delayMs, this.actor, () => {
      if (this.repeats) this.#event = this.#schedule();
      this.act();
    });
  }
}

function aborted(signal: AbortSignal): Error {
  return Object.assign(new Error('The operation was aborted', { cause: signal.reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });
}

let present: History | undefined;

function history(): History {
  if (present === undefined) throw new Error('no history is being simulated');
  return present;
}

function aTimer(repeats: boolean, act: () => void, delayMs: number): VirtualTimer {
  const { time } = history();
  const leastMs = repeats ? SHORTEST_INTERVAL_MS : 0;
  return new VirtualTimer(time, time.current, Math.max(leastMs, delayMs || 0), repeats, act);
}

function delay<T>(delayMs?: number, value?: T, { signal }: { signal?: AbortSignal } = {}): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(aborted(signal));
      return;
    }
    const onAbort = () => {
      timer.clear();
      if (signal !== undefined) reject(aborted(signal));
    };
    const timer = aTimer(
      false,
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve(value);
      },
      delayMs ?? 0,
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function clear(timer: unknown): void {
  if (timer instanceof VirtualTimer) timer.clear();
}

/**
 * Replaces the timers, the clocks and the randomness of this process, for good: all of them follow from the history that
 * is being simulated. The stages take their time from a clock port, and what they wait for from Node's timers; kept
 * together here, neither can bring the real time into a history (ADR 39).
 */
export function takeOverTime(): void {
  const timer =
    (repeats: boolean) =>
    (act: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) =>
      aTimer(
        repeats,
        () => {
          act(...args);
        },
        delayMs,
      );
  Object.assign(globalThis, {
    setTimeout: timer(false),
    setInterval: timer(true),
    setImmediate: (act: (...args: unknown[]) => void, ...args: unknown[]) => timer(false)(act, 0, ...args),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  });
  const require = createRequire(import.meta.url);
  const promises = require('node:timers/promises') as { setTimeout: typeof delay; setImmediate: () => Promise<void> };
  promises.setTimeout = delay;
  promises.setImmediate = () => delay(0);
  Object.defineProperty(performance, 'now', { value: () => history().time.nowMs });
  Date.now = () => history().time.wallMs;
  Math.random = () => history().random.next();
  crypto.randomUUID = () => {
    const bytes = new Uint8Array(16);
    history().random.fill(bytes);
    return Buffer.from(bytes)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') as UUID;
  };
  syncBuiltinESMExports();
}

/** Has time and chance be those of this history from now on. */
export function liveIn(next: History): void {
  present = next;
}
