/** The result of one look at a partition. The values were read in this order, one after the other. */
export interface PipelineLook {
  /** When the look began, in epoch milliseconds. */
  readonly atMs: number;
  readonly inboxEnd: number;
  /** Everything of the inbox before this offset is in the log. */
  readonly sequencedTo: number;
  readonly logEnd: number;
  /** Everything of the log before this offset is in Postgres. */
  readonly projectedTo: number;
}

/** The inbox's end at some time, and the log's end once all of that inbox was in the log. */
interface Mark {
  readonly atMs: number;
  readonly inboxEnd: number;
  logEnd: number | null;
}

/** Enough for minutes of looks. Beyond that, some are dropped, and the reported lag is slightly too long. */
const REMEMBERED_MARKS = 200;

/** Measures how long the oldest record of an inbox partition has waited to reach Postgres, through two topics. */
export class PipelineProgress {
  #marks: Mark[] = [];
  /** The shortest time between two marks, milliseconds. */
  #spacingMs = 0;
  #shownUpToMs: number | null = null;

  look(found: PipelineLook): void {
    const last = this.#marks.at(-1);
    if (last === undefined) this.#spacingMs = 0;
    if (last === undefined || found.atMs - last.atMs >= this.#spacingMs) {
      this.#marks.push({ atMs: found.atMs, inboxEnd: found.inboxEnd, logEnd: null });
    }
    for (const mark of this.#marks) {
      if (mark.logEnd === null && mark.inboxEnd <= found.sequencedTo) mark.logEnd = found.logEnd;
    }
    const waiting = this.#marks.findIndex(({ logEnd }) => logEnd === null || logEnd > found.projectedTo);
    const shown = this.#marks.splice(0, waiting === -1 ? this.#marks.length : waiting);
    this.#shownUpToMs = shown.at(-1)?.atMs ?? this.#shownUpToMs;
    if (this.#marks.length > REMEMBERED_MARKS) this.#thinOut();
  }

  #thinOut(): void {
    const [first, last] = [this.#marks[0], this.#marks.at(-1)];
    this.#spacingMs = ((last?.atMs ?? 0) - (first?.atMs ?? 0)) / (REMEMBERED_MARKS / 2);
    let keptAtMs = -Infinity;
    this.#marks = this.#marks.filter(({ atMs }) => {
      if (atMs - keptAtMs < this.#spacingMs) return false;
      keptAtMs = atMs;
      return true;
    });
  }

  /** Notes that everything that came before that time is in Postgres, as known from another source. */
  assumeShown(upToMs: number): void {
    this.#shownUpToMs ??= upToMs;
  }

  /**
   * Returns the largest possible age of the oldest record that may not be in Postgres, milliseconds; `null` while it is
   * unknown.
   */
  lagMs(nowMs: number): number | null {
    return this.#shownUpToMs === null ? null : Math.max(0, nowMs - this.#shownUpToMs);
  }
}
