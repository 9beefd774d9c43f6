/** The result of one look at a partition, asked for in this order, one after the other. */
export interface PipelineLook {
  /** Before anything was asked. */
  readonly atMs: number;
  readonly inboxEnd: number;
  /** Everything of the inbox before this offset is in the log. */
  readonly sequencedTo: number;
  readonly logEnd: number;
  /** Everything of the log before this offset is in Postgres. */
  readonly projectedTo: number;
}

/** Where the inbox ended at some time, and where the log ended once all of that was in it. */
interface Mark {
  readonly atMs: number;
  readonly inboxEnd: number;
  logEnd: number | null;
}

/** Enough for minutes of looks. After that fewer of them are kept, and the reported lag is a little too long. */
const REMEMBERED_MARKS = 200;

/** Since when something of a partition of the inbox waits to be in Postgres: it has to pass two topics until then. */
export class PipelineProgress {
  #marks: Mark[] = [];
  /** How far apart marks are at least. */
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

  /** Everything that came before that time is in Postgres, as is known from elsewhere. */
  assumeShown(upToMs: number): void {
    this.#shownUpToMs ??= upToMs;
  }

  /** How long ago the oldest record that may not be in Postgres came at most; `null` before it is known. */
  lagMs(nowMs: number): number | null {
    return this.#shownUpToMs === null ? null : Math.max(0, nowMs - this.#shownUpToMs);
  }
}
