/** A record that was read: its offset, and what it holds in short. */
export interface Anchor {
  readonly offset: number;
  readonly fingerprint: string;
}

/** Where a reader goes on in a partition. */
export interface Position {
  /** Everything before it was read. */
  readonly next: number;
  /** The last record before it that is remembered; `null` when none is. */
  readonly anchor: Anchor | null;
}

/** The current content of the partition. */
export interface PartitionFindings {
  /** The offset of the first record that is kept. */
  readonly begin: number;
  /** The offset after the last record. */
  readonly end: number;
  /** The fingerprint of the record at the anchor's offset; `null` if it no longer exists. */
  readonly fingerprint: string | null;
}

export type PositionVerdict =
  | { readonly kind: 'fits' }
  /** Retention removed records before they were read: from `from` up to, not including, `to`. */
  | { readonly kind: 'removed'; readonly from: number; readonly to: number }
  /** The partition lost records that were read, and may hold others in their place. */
  | { readonly kind: 'went back'; readonly expected: number; readonly found: number; readonly reason: string };

/** Judges whether the partition still is what was read of it. */
export function judgePosition(
  { next, anchor }: Position,
  { begin, end, fingerprint }: PartitionFindings,
): PositionVerdict {
  if (end < next) {
    return {
      kind: 'went back',
      expected: next,
      found: end,
      reason: `it ends at offset ${end}, but ${next} records were read`,
    };
  }
  if (anchor !== null && fingerprint !== null && fingerprint !== anchor.fingerprint) {
    return {
      kind: 'went back',
      expected: anchor.offset,
      found: anchor.offset,
      reason: `offset ${anchor.offset} holds another record than the one that was read`,
    };
  }
  return begin > next ? { kind: 'removed', from: next, to: begin } : { kind: 'fits' };
}
