import type { PartitionFold } from '#libs/domain';
import type { CheckpointChanges, CheckpointPlace, Covered } from '#libs/kafka-log';
import type { ReadBack } from './read-back.js';

/** The sequencer's state of one partition, from its restoration until it becomes uncertain. */
export interface PartitionState {
  /** The latest group generation in which the state was checked against the log. */
  generation: number;
  /** The latest group generation in which the inbox was read from where the log ends, without a gap. */
  joinedIn: number | null;
  /** How many connections had broken when the end of the log was last checked. */
  interruptions: number;
  readonly fold: PartitionFold;
  /** The ends of what is sequenced: everything before these offsets of log and inbox is appended. */
  appended: Covered;
  /**
   * Everything before this offset of the inbox is sequenced, a repeat or a dead letter. No checkpoint has it: once the
   * process has ended, only a log record can show that the inbox still holds what was read.
   */
  handledTo: number;
  /** The offsets that the checkpoint in the sequences topic covers. */
  checkpointed: CheckpointPlace;
  /** The offset of the next checkpoint record, unless another sequencer writes one. */
  sequencesNext: number;
  /** What a checkpoint that failed had to write, or may have written; `null` after one that succeeded. */
  unwritten: Pick<CheckpointChanges, 'lastSeqs' | 'ids'> | null;
  /** Records and bytes appended since the checkpoint. */
  uncheckpointed: { records: number; bytes: number };
  /** The keys of the ids in the sequences topic, and when their time segments begin. */
  readonly idsKeys: Map<string, number>;
  /** Ids that were read from the log before the window. */
  readonly readBack: ReadBack;
}
