/** What a database says about itself. */
export interface DatabaseLook {
  /** Whether it replays the log of another server, and accepts no writes. */
  readonly isStandby: boolean;
  /** Identifies a server together with its standbys. */
  readonly systemId: string;
  /** How often the server, or one that it comes from, was promoted; as of its last checkpoint. */
  readonly timeline: number;
  /** The installation that the database belongs to; `null` if it has none yet. */
  readonly installation: string | null;
  /** The part of the feed that it holds, from 0; `null`: none. */
  readonly feedPlace: number | null;
  /** The end of the write-ahead log, bytes: on a standby of what it has replayed. */
  readonly walEnd: bigint;
}

/** A database that holds a part of the feed, and can be written. */
export interface PrimaryLook extends DatabaseLook {
  readonly place: number;
}

export type ReplicaVerdict =
  { readonly kind: 'standby'; readonly primary: PrimaryLook } | { readonly kind: 'refuse'; readonly reason: string };

/**
 * Judges which of the databases a listed replica is a standby of.
 * @param primaries as they were after `replayedBefore`
 * @param replayedBefore the end of the log that the replica had replayed earlier; `null` if that is unknown
 */
export function judgeReplica(
  replica: DatabaseLook,
  primaries: readonly PrimaryLook[],
  replayedBefore: bigint | null = null,
): ReplicaVerdict {
  const refuse = (reason: string): ReplicaVerdict => ({ kind: 'refuse', reason });
  if (!replica.isStandby)
    return refuse('It is no standby: it accepts writes. It was promoted, or is the wrong server.');
  if (replica.installation === null) return refuse('It belongs to no installation yet.');
  const ours = primaries.find(({ installation }) => installation !== null)?.installation ?? replica.installation;
  if (replica.installation !== ours)
    return refuse(`It belongs to installation ${replica.installation}, and not to ${ours}.`);
  if (replica.feedPlace === null) return refuse('It holds no feed: list standbys of the databases that do.');
  const primary = primaries.find(({ feedPlace }) => feedPlace === replica.feedPlace);
  if (primary === undefined)
    return refuse(
      `It holds part ${replica.feedPlace + 1} of the feed, and no database of that part can be reached: it is away, or the feed has moved.`,
    );
  if (primary.systemId !== replica.systemId)
    return refuse('It is a standby of another server, with a copy of the feed.');
  if (primary.timeline !== replica.timeline)
    return refuse(
      `It is on timeline ${replica.timeline}, and its primary on ${primary.timeline}: one of them was promoted. ` +
        'A standby of the new primary is used after its next checkpoint. Rebuild any other standby, or repair it with pg_rewind.',
    );
  if (replayedBefore !== null && replayedBefore > primary.walEnd)
    return refuse('It is ahead of its primary: it follows another server.');
  return { kind: 'standby', primary };
}

/** How many ends are kept: of about two minutes. A standby that is further behind has no known age. */
const MOST_ENDS = 128;

/** Remembers where the write-ahead log of a primary ended when. So the age of a standby follows from one clock. */
export class WalEnds {
  #ends: { readonly walEnd: bigint; readonly atMs: number }[] = [];

  /** @param atMs before the primary was asked, epoch milliseconds */
  note(walEnd: bigint, atMs: number): void {
    // A log that went back is that of another primary.
    if (walEnd < (this.#ends.at(-1)?.walEnd ?? 0n)) this.#ends = [];
    this.#ends.push({ walEnd, atMs });
    if (this.#ends.length > MOST_ENDS) this.#ends.shift();
  }

  /** The time of the first end that is remembered. */
  get sinceMs(): number {
    return this.#ends[0]?.atMs ?? Infinity;
  }

  /**
   * Returns the latest known time up to which a standby has everything; `null` if it has not reached a known end.
   * It forgets the ends before that.
   */
  freshAt(replayed: bigint): number | null {
    const last = this.#ends.findLastIndex(({ walEnd }) => walEnd <= replayed);
    if (last < 0) return null;
    this.#ends = this.#ends.slice(last);
    return this.#ends[0]?.atMs ?? null;
  }
}
