/** A record that was read: its offset and a fingerprint of its content. */
export interface Anchor {
  readonly offset: number;
  readonly fingerprint: string;
}

/** Where a reader continues in a partition. */
export interface Position {
  /** The next offset to read. */
  readonly next: number;
  /** The last remembered record before `next`; `null` if there is none. */
  readonly anchor: Anchor | null;
}

/** The current content of the partition. */
export interface PartitionFindings {
  /** The offset of the oldest record in the partition. */
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

/** Judges whether the partition still holds the records that were read of it. */
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
