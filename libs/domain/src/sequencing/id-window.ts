import { FingerprintList, fingerprintsOf } from './fingerprint-list.js';
import { FingerprintTable } from './fingerprint-table.js';
import type { IdFingerprint } from './id-fingerprint.js';

/** The length of a segment of the window, milliseconds: 4 minutes. */
export const ID_SEGMENT_MS = 4 * 60_000;
/** The number of segments in the window. The newest one is not over, so the window is 16 to 20 minutes long. */
export const ID_SEGMENTS = 5;

/**
 * A clock that goes back by more segments than this was wrong before. A smaller step may be the difference of two
 * brokers.
 */
const SET_BACK_SEGMENTS = 15;

/** How long an id is known at least, milliseconds. */
export const ID_WINDOW_MS = (ID_SEGMENTS - 1) * ID_SEGMENT_MS;

/** The ids of one stretch of the log, all in the same segment. */
export interface IdStretch {
  /** When the segment begins, by the timestamps of the inbox, epoch milliseconds. */
  readonly beginMs: number;
  /** The range of log offsets that holds the ids; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  /** 16 bytes for each id. */
  readonly fingerprints: Buffer;
}

interface Segment {
  /** The number of the segment, counted since 1970. */
  number: number;
  /** All ids of the segment are in the log at or after this offset. */
  firstOffset: number;
  readonly ids: FingerprintTable;
  /** Ids that no checkpoint contains yet. */
  readonly added: FingerprintList;
  addedFrom: number;
  addedTo: number;
}

/** Returns the number of the segment that a time belongs to. */
function segmentOf(timeMs: number): number {
  return Math.floor(timeMs / ID_SEGMENT_MS);
}

/**
 * The ids that a partition of the log got in its last 16 to 20 minutes. Only the timestamps of inbox records move its
 * clock, so every process that folds the same log has the same window.
 */
export class IdWindow {
  /** Ascending by log offset, and by time unless the inbox' clock was set back. */
  #segments: Segment[] = [];
  #clockMs: number;

  constructor(clockMs = 0) {
    this.#clockMs = clockMs;
  }

  /** The time of the newest record of the log. */
  get clockMs(): number {
    return this.#clockMs;
  }

  get size(): number {
    return this.#segments.reduce((sum, { ids }) => sum + ids.size, 0);
  }

  /**
   * Returns the time at which an inbox record counts as received. It does not go back, unless a broker's clock that was
   * far ahead was corrected. Otherwise the window would keep all ids until the old time comes again.
   */
  timeOf(inboxMs: number): number {
    return this.#isSetBack(inboxMs) ? inboxMs : Math.max(this.#clockMs, inboxMs);
  }

  /** Returns the number of the segment of an inbox record. Records of one segment see the same window. */
  segmentOf(inboxMs: number): number {
    return segmentOf(this.timeOf(inboxMs));
  }

  /** Whether the window at that time holds the id. */
  has(print: IdFingerprint, timeMs: number): boolean {
    const oldest = segmentOf(timeMs) - ID_SEGMENTS;
    for (let at = this.#segments.length - 1; at >= 0; at--) {
      const segment = this.#segments[at];
      if (segment !== undefined && segment.number > oldest && segment.ids.has(print)) return true;
    }
    return false;
  }

  /** Returns the log offset from which on the window at that time holds all ids; `null` if it holds none. */
  coversFrom(timeMs: number): number | null {
    const oldest = segmentOf(timeMs) - ID_SEGMENTS;
    return this.#segments.find(({ number }) => number > oldest)?.firstOffset ?? null;
  }

  /**
   * Adds the id of a record of the log.
   * @param timeMs the result of `timeOf`
   */
  add(print: IdFingerprint, timeMs: number, logOffset: number): void {
    const number = segmentOf(timeMs);
    if (this.#isSetBack(timeMs)) {
      for (const segment of this.#segments) segment.number = Math.min(segment.number, number);
    }
    this.#clockMs = timeMs;
    this.#forget();
    this.#record(this.#segmentFor(number, logOffset), print, logOffset);
  }

  /**
   * Adds the id of a record that is in the log already, and possibly in this window.
   * @param isNew whether the record is the first of its event in the log
   */
  replay(print: IdFingerprint, timeMs: number, logOffset: number, isNew: boolean): void {
    if (timeMs >= this.#clockMs || (isNew && this.#isSetBack(timeMs))) this.add(print, timeMs, logOffset);
    else if (!this.isOver(timeMs)) this.#record(this.#segmentFor(segmentOf(timeMs), logOffset), print, logOffset);
  }

  /** Adds the ids of a checkpoint. */
  restore(stretch: IdStretch): void {
    // A checkpoint from before the clock was set back may be later than the clock.
    const beginMs = Math.min(stretch.beginMs, this.#clockMs);
    if (this.isOver(beginMs)) return;
    const segment = this.#segmentFor(segmentOf(beginMs), stretch.from);
    for (const print of fingerprintsOf(stretch.fingerprints)) segment.ids.add(print);
  }

  /** Returns the ids that were added since the last call. */
  takeAdded(): readonly IdStretch[] {
    return this.#segments
      .filter(({ added }) => added.size > 0)
      .map((segment) => ({
        beginMs: segment.number * ID_SEGMENT_MS,
        from: segment.addedFrom,
        to: segment.addedTo,
        fingerprints: segment.added.take(),
      }));
  }

  /** Whether the segment of that time has left the window. */
  isOver(timeMs: number): boolean {
    return segmentOf(timeMs) <= segmentOf(this.#clockMs) - ID_SEGMENTS;
  }

  #isSetBack(timeMs: number): boolean {
    return segmentOf(timeMs) < segmentOf(this.#clockMs) - SET_BACK_SEGMENTS;
  }

  #segmentFor(number: number, logOffset: number): Segment {
    let place = this.#segments.length;
    while (place > 0 && (this.#segments[place - 1]?.number ?? 0) > number) place--;
    const found = this.#segments[place - 1];
    if (found?.number === number) {
      found.firstOffset = Math.min(found.firstOffset, logOffset);
      return found;
    }
    // Expect as many ids as in the segment before.
    const ids = new FingerprintTable(found?.ids.size);
    const segment = { number, firstOffset: logOffset, ids, added: new FingerprintList(), addedFrom: 0, addedTo: 0 };
    this.#segments.splice(place, 0, segment);
    return segment;
  }

  #record(segment: Segment, print: IdFingerprint, logOffset: number): void {
    if (!segment.ids.add(print)) return;
    if (segment.added.size === 0) segment.addedFrom = logOffset;
    segment.added.add(print);
    segment.addedTo = logOffset + 1;
  }

  #forget(): void {
    const oldest = segmentOf(this.#clockMs) - ID_SEGMENTS;
    if ((this.#segments[0]?.number ?? Infinity) <= oldest) {
      this.#segments = this.#segments.filter(({ number }) => number > oldest);
    }
  }
}
