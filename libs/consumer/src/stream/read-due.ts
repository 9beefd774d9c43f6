/** The inputs that decide when to read the feed next. All times in milliseconds on one clock. */
export interface ReadingState {
  /** When the last page came; `undefined` before the first. */
  readonly lastReadMs: number | undefined;
  /** Since when something is known to be missing; `undefined` while nothing is. */
  readonly behindSinceMs: number | undefined;
  /** Whether the last page was not the last one. */
  readonly hasMore: boolean;
  /** Until when the service is to be left alone. */
  readonly restUntilMs: number;
}

export interface ReadingPace {
  /** How long a push may be late before it counts as lost. */
  readonly patienceMs: number;
  /** How often to look for a lost event that has no later one to show the gap. */
  readonly pollIntervalMs: number;
}

/** When to read the feed. */
export function readDueAt(state: ReadingState, pace: ReadingPace): number {
  const { lastReadMs, behindSinceMs, hasMore, restUntilMs } = state;
  if (lastReadMs === undefined || hasMore) return restUntilMs;
  const polled = lastReadMs + pace.pollIntervalMs;
  const due = behindSinceMs === undefined ? polled : Math.min(polled, behindSinceMs + pace.patienceMs);
  return Math.max(due, restUntilMs);
}
