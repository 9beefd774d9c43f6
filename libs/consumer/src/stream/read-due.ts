/** The state that decides when to read the feed next. All times are milliseconds of one clock. */
export interface ReadingState {
  /** When the last page came; `undefined` before the first. */
  readonly lastReadMs: number | undefined;
  /** When a gap was noticed; `undefined` while there is none. */
  readonly behindSinceMs: number | undefined;
  /** Whether more pages follow the last one that was read. */
  readonly hasMore: boolean;
  /** Do not call the service before this time. */
  readonly restUntilMs: number;
}

export interface ReadingPace {
  /** How long a push may be late before it counts as lost. */
  readonly patienceMs: number;
  /** How often to check the feed for a lost newest event, which no later event reveals. */
  readonly pollIntervalMs: number;
}

/** Returns the time at which to read the feed next. */
export function readDueAt(state: ReadingState, pace: ReadingPace): number {
  const { lastReadMs, behindSinceMs, hasMore, restUntilMs } = state;
  if (lastReadMs === undefined || hasMore) return restUntilMs;
  const polled = lastReadMs + pace.pollIntervalMs;
  const due = behindSinceMs === undefined ? polled : Math.min(polled, behindSinceMs + pace.patienceMs);
  return Math.max(due, restUntilMs);
}
