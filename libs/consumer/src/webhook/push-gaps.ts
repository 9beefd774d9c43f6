/** Between two pushed events, at least one that was for the endpoint has not come. */
export interface PushGap {
  /** Everything up to this `seq` that was for the endpoint has come, as far as is known, except for earlier gaps. */
  readonly after: number;
  /** The `seq` of an event that has come. */
  readonly before: number;
  /** The last one that has not come; `null` if it is not known whether there is one. */
  readonly missing: number | null;
}

/** A run of events without a gap: its first and last `seq`, and the one before it, `null` if that is not known. */
type Run = readonly [first: number, last: number, previous: number | null];

/** What `PushGaps` knows, to be stored as JSON. */
export type PushGapsState = readonly Run[];

const DEFAULT_CAPACITY = 1_000;

/**
 * Finds the pushes that have not come to an endpoint with `previous_sequence`, whatever its types, scope and filter.
 * Pushes may come in any order and repeated. Events wait in the feed: `readPushGaps` reads them.
 */
export class PushGaps {
  readonly #capacity: number;
  /** Ascending. The first one begins where the gaps are counted from. */
  #runs: Run[];

  /**
   * @param options.state what an earlier one knew; without it, gaps are counted from the first push that comes, which
   *   need not be the first that was sent
   * @param options.capacity how many gaps are remembered, 1,000 if not given; the oldest are forgotten first
   */
  constructor({ state, capacity = DEFAULT_CAPACITY }: { state?: PushGapsState | null; capacity?: number } = {}) {
    this.#capacity = capacity;
    this.#runs = [...(state ?? [])];
  }

  /**
   * Notes an event that has come.
   * @param previous `Push.previousSequence`
   * @throws RangeError if `seq` is no sequence, or `previous` is none before it
   */
  received(seq: number, previous: number | undefined): void {
    if (!isSequence(seq) || seq < 1) throw new RangeError(`seq has to be an integer from 1 on, but is ${String(seq)}`);
    if (previous !== undefined && (!isSequence(previous) || previous >= seq)) {
      throw new RangeError(`previous has to be an integer from 0 to ${seq - 1}, but is ${String(previous)}`);
    }
    const [oldest] = this.#runs;
    if (oldest === undefined) this.#runs = [[seq, seq, null]];
    else if (seq >= oldest[0]) this.#add([seq, seq, previous === 0 ? oldest[1] : (previous ?? null)]);
  }

  /**
   * Notes that everything up to this `seq` is done, such as from the feed. It closes every gap up to there, so check
   * first that the feed has reached it.
   * @throws RangeError if it is no sequence; 0 stands for the beginning
   */
  settled(through: number): void {
    if (!isSequence(through)) throw new RangeError(`through has to be an integer from 0 on, but is ${String(through)}`);
    const [oldest] = this.#runs;
    if (oldest === undefined) this.#runs = [[through, through, null]];
    else this.#add([oldest[0], through, null]);
  }

  /** Oldest first. */
  get gaps(): readonly PushGap[] {
    return this.#runs.slice(1).map(([before, , missing], index) => {
      return { after: this.#runs[index]?.[1] ?? 0, before, missing };
    });
  }

  get state(): PushGapsState {
    return this.#runs;
  }

  #add(added: Run): void {
    const runs: Run[] = [];
    for (const run of [...this.#runs, added].toSorted(byFirst)) {
      // A run that joins the ones before it leaves nothing for the endpoint between them.
      let joined = run;
      for (let last = runs.at(-1); last !== undefined && joins(last, joined); last = runs.at(-1)) {
        runs.pop();
        joined = [last[0], Math.max(last[1], joined[1]), previousOf(last, joined)];
      }
      runs.push(joined);
    }
    const forgotten = runs.splice(0, Math.max(0, runs.length - 1 - this.#capacity));
    const [oldest] = runs;
    if (oldest !== undefined && forgotten.length > 0) runs[0] = [oldest[0], oldest[1], null];
    this.#runs = runs;
  }
}

function isSequence(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function byFirst([one]: Run, [other]: Run): number {
  return one - other;
}

/** Returns the one before both: a run that comes between an event and the one before it is in no gap. */
function previousOf([first, , known]: Run, [, , previous]: Run): number | null {
  return known ?? (previous !== null && previous < first ? previous : null);
}

function joins([, last]: Run, [first, , previous]: Run): boolean {
  return first <= last + 1 || (previous !== null && previous <= last);
}
