import { useSyncExternalStore } from 'react';
import { browserClock } from './clock.js';

/** A timer that ends at midnight would be late after a computer has slept. */
const LOOK_EVERY_MS = 10_000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** The local day. All who listen share one timer. */
export const today = {
  /** When it began, milliseconds since the epoch. */
  began: (): number => new Date(browserClock.now()).setHours(0, 0, 0, 0),
  /**
   * Calls the listener every few seconds, so that it can look whether the next day has begun.
   *
   * @returns how to stop it
   */
  subscribe: (listener: () => void): (() => void) => {
    listeners.add(listener);
    timer ??= setInterval(() => {
      for (const each of listeners) each();
    }, LOOK_EVERY_MS);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  },
};

/** Returns when the local day began, and updates it soon after the next one begins. */
export function useToday(): number {
  return useSyncExternalStore(today.subscribe, today.began);
}
