/** The browser's clock, in milliseconds since the epoch: the only place that reads it. */
export const browserClock = { now: (): number => Date.now() };
