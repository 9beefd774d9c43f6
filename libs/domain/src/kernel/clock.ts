/** Returns the current time. Decisions take a time as an argument; only shells hold a clock. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
