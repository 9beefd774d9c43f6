import type { EventId, OrgId, Seq } from '../kernel/index.js';
import { idFingerprint, type IdFingerprint } from './id-fingerprint.js';
import { IdWindow } from './id-window.js';
import { OrgSequences } from './org-sequences.js';

/** An event of the inbox, as far as its place in the log depends on it. */
export interface Received {
  readonly orgId: OrgId;
  readonly id: EventId;
  /** When the broker took the record, in epoch milliseconds. */
  readonly inboxMs: number;
}

export type Appending =
  /** `timeMs` belongs to the record of the log: the window is restored by it. */
  { readonly kind: 'appended'; readonly seq: Seq; readonly timeMs: number } | { readonly kind: 'repeat' };

/**
 * The fold of one partition. The seq of an event depends only on the events before it, so every process that folds the
 * same inbox writes the same log. Its state is a function of the log, and can be restored from any checkpoint and the log
 * after it. It runs ahead of the writes. After an uncertain write the sequencer discards it.
 */
export class PartitionFold {
  readonly ids: IdWindow;

  /** @param clockMs the time of the newest record that the state holds */
  constructor(
    clockMs = 0,
    readonly sequences = new OrgSequences(),
  ) {
    this.ids = new IdWindow(clockMs);
  }

  /**
   * Gives the event the next seq of its org, unless its id is known (contract 3.2: unique, never reused).
   * @param logOffset where the event will be in the log
   * @param isInLog whether the log before the window has the id, if the event has to be looked for there
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
