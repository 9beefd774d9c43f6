import type { PartitionFold } from '#libs/domain';
import type { CheckpointPlace, Covered } from '#libs/kafka-log';
import type { ReadBack } from './read-back.js';

/** The sequencer's state of one partition, from its restoration until it becomes uncertain. */
export interface PartitionState {
  /** The latest group generation in which it was found to be what the log holds. */
  generation: number;
  /** The latest group generation in which the inbox was read without a gap from where the log ends. */
  joinedIn: number | null;
  /** How many connections had broken when the log was last found to end here. */
  interruptions: number;
  readonly fold: PartitionFold;
  /** The end of the log: everything up to these offsets is appended. */
  appended: Covered;
  /** The extent of the checkpoint in the sequences topic. */
  checkpointed: CheckpointPlace;
  /** Where the next checkpoint record will be, as long as no other sequencer writes one. */
  sequencesNext: number;
  /** Appended since the checkpoint. */
  uncheckpointed: { records: number; bytes: number };
  /** The keys of the ids in the sequences topic, with the times at which their segments begin. */
  readonly idsKeys: Map<string, number>;
  /** The ids that were read from the log before the window. */
  readonly readBack: ReadBack;
}
