import type { FeedPage } from './feed.js';

/**
 * The reader's position is ahead of the feed, and stays so. If Gapless is behind or being restored, the feed will reach
 * the position. If the feed began again, or the position is of another organization, nobody would read the events up to
 * the position.
 */
export class FeedResetError extends Error {
  override readonly name = 'FeedResetError';

  constructor(
    /** The seq of the last event that was handled. */
    readonly since: number,
    /** The seq of the newest event in the feed. */
    readonly headSeq: number,
  ) {
    super(
      `the feed ends at ${headSeq}, and ${since} was the last that was handled. Gapless is behind or being restored: ` +
        'then wait. Only if the feed really began again, or is of another organization, stop the reader, delete its ' +
        'cursor, and start it again',
    );
  }
}

const DEFAULT_RESET_AFTER_MS = 60_000;
const LONGEST_REST_MS = 5_000;

/**
 * Notices a position that the feed does not reach. For a while that is normal: pushes come before their events are in
 * the feed, and a database that took over may lack the last events until the log is read again.
 */
export class ResetWatch {
  readonly #afterMs: number;
  #ahead: { readonly position: number; readonly sinceMs: number } | undefined;

  /** @param afterMs how long that is normal, 60 s if not given; infinity: always */
  constructor(afterMs = DEFAULT_RESET_AFTER_MS) {
    this.#afterMs = afterMs;
  }

  /** How long to wait before the next look at a feed that does not reach the position; `undefined` if it does. */
  get restMs(): number | undefined {
    return this.#ahead === undefined ? undefined : Math.min(LONGEST_REST_MS, this.#afterMs / 10);
  }

  /**
   * Notes the head of a page.
   * @param since the seq after which the page was read
   * @returns the error once the feed has not reached the position in time, and again whenever that time has passed
   */
  check(since: number, { headSeq }: Pick<FeedPage, 'headSeq'>): FeedResetError | undefined {
    if (this.#afterMs === Number.POSITIVE_INFINITY) return undefined;
    const nowMs = performance.now();
    // Pushes may have moved the position on, so it may always be a little ahead. The feed has to reach where it was.
    if (this.#ahead !== undefined && headSeq >= this.#ahead.position) this.#ahead = undefined;
    const ahead = this.#ahead ?? (headSeq < since ? { position: since, sinceMs: nowMs } : undefined);
    const isLate = ahead !== undefined && nowMs - ahead.sinceMs >= this.#afterMs;
    this.#ahead = isLate ? { ...ahead, sinceMs: nowMs } : ahead;
    return isLate ? new FeedResetError(ahead.position, headSeq) : undefined;
  }
}
