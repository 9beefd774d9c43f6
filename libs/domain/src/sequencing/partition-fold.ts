import type { EventId, OrgId, Seq } from '../kernel/index.js';
import { idFingerprint, type IdFingerprint } from './id-fingerprint.js';
import { IdWindow } from './id-window.js';
import { OrgSequences } from './org-sequences.js';

/** The parts of an inbox event that determine its place in the log. */
export interface Received {
  readonly orgId: OrgId;
  readonly id: EventId;
  /** When the broker received the record, in epoch milliseconds. */
  readonly inboxMs: number;
}

export type Appending =
  /** `timeMs` is stored in the log record, to restore the window from it. */
  { readonly kind: 'appended'; readonly seq: Seq; readonly timeMs: number } | { readonly kind: 'repeat' };

/**
 * The fold of one partition. The seq of an event depends only on earlier events, so every process that folds the same
 * inbox writes the same log. The state follows from the log; any checkpoint and the log after it restore it. The fold
 * runs ahead of the writes. After an uncertain write, the sequencer discards it.
 */
export class PartitionFold {
  readonly ids: IdWindow;

  /** @param clockMs the time of the newest record in the state */
  constructor(
    clockMs = 0,
    readonly sequences = new OrgSequences(),
  ) {
    this.ids = new IdWindow(clockMs);
  }

  /**
   * Gives the event the next seq of its org, unless its id is known (contract 3.2: unique, never reused).
   * @param logOffset the offset that the event will get in the log
   * @param isInLog searches the log before the window for the id; given if that is necessary
   */
  append(received: Received, logOffset: number, isInLog?: (print: IdFingerprint) => boolean): Appending {
    const print = idFingerprint(received.orgId, received.id);
    const timeMs = this.ids.timeOf(received.inboxMs);
    if (this.ids.has(print, timeMs) || isInLog?.(print) === true) return { kind: 'repeat' };
    this.ids.add(print, timeMs, logOffset);
    return { kind: 'appended', seq: this.sequences.next(received.orgId), timeMs };
  }

  /** Takes over a record that is in the log already. */
  replay(
    record: { readonly orgId: OrgId; readonly id: EventId; readonly seq: Seq; readonly timeMs: number },
    logOffset: number,
  ): void {
    const isNew = this.sequences.replay(record.orgId, record.seq);
    this.ids.replay(idFingerprint(record.orgId, record.id), record.timeMs, logOffset, isNew);
  }
}
