import { FingerprintList, fingerprintsOf } from './fingerprint-list.js';
import { FingerprintTable } from './fingerprint-table.js';
import type { IdFingerprint } from './id-fingerprint.js';

/** How long a segment of the window is: 4 minutes. */
export const ID_SEGMENT_MS = 4 * 60_000;
/** Segments that count at the same time. The newest one is not over, so the window is 16 to 20 minutes long. */
export const ID_SEGMENTS = 5;

/** A clock that goes back by more than this was wrong before; what is less may be two brokers that differ. */
const SET_BACK_SEGMENTS = 15;

/** The time that an id is known for at least. */
export const ID_WINDOW_MS = (ID_SEGMENTS - 1) * ID_SEGMENT_MS;

/** The ids of one stretch of the log, all of the same segment. */
export interface IdStretch {
  /** When the segment begins, in the time of the inbox. */
  readonly beginMs: number;
  /** The log offsets that the ids come from: from the first one to the one after the last. */
  readonly from: number;
  readonly to: number;
  /** 16 bytes for each id. */
  readonly fingerprints: Buffer;
}

interface Segment {
  /** Counted in segments since 1970. */
  number: number;
  /** All ids of the segment are in the log at this offset or after it. */
  firstOffset: number;
  readonly ids: FingerprintTable;
  /** Ids that no checkpoint contains yet. */
  readonly added: FingerprintList;
  addedFrom: number;
  addedTo: number;
}

/** The number of the segment that a time belongs to. */
function segmentOf(timeMs: number): number {
  return Math.floor(timeMs / ID_SEGMENT_MS);
}

/**
 * The ids that a partition of the log got in its last 16 to 20 minutes. Its clock is the time of the inbox records that
 * became part of the log, and nothing else. Every process that folds the same log has the same window.
 */
export class IdWindow {
  /** Ascending in log offset, and in time unless the inbox' clock was set back. */
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
   * When a record of the inbox counts as received. Time does not go back, unless a broker that was far ahead got its clock
   * corrected: waiting until the old time comes again would keep all ids meanwhile.
   */
  timeOf(inboxMs: number): number {
    return this.#isSetBack(inboxMs) ? inboxMs : Math.max(this.#clockMs, inboxMs);
  }

  /** Which segment a record of the inbox would be in: records of one segment see the same window. */
  segmentOf(inboxMs: number): number {
    return segmentOf(this.timeOf(inboxMs));
  }

  /** Whether the id is among those of the window as it is at that time. */
  has(print: IdFingerprint, timeMs: number): boolean {
    const oldest = segmentOf(timeMs) - ID_SEGMENTS;
    for (let at = this.#segments.length - 1; at >= 0; at--) {
      const segment = this.#segments[at];
      if (segment !== undefined && segment.number > oldest && segment.ids.has(print)) return true;
    }
    return false;
  }

  /** From which log offset on all ids are in the window as it is at that time; `null` if none is. */
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
   * Takes over the id of a record that is in the log already, and possibly in this window.
   * @param isNew whether the record is the first one of its event in the log
   */
  replay(print: IdFingerprint, timeMs: number, logOffset: number, isNew: boolean): void {
    if (timeMs >= this.#clockMs || (isNew && this.#isSetBack(timeMs))) this.add(print, timeMs, logOffset);
    else if (!this.isOver(timeMs)) this.#record(this.#segmentFor(segmentOf(timeMs), logOffset), print, logOffset);
  }

  /** Adds the ids of a checkpoint. */
  restore(stretch: IdStretch): void {
    // One from after the clock's time was written before the clock was set back.
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

  /** Whether the segment that the time belongs to is not in the window any more. */
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
    // About as many ids come as in the segment before.
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
