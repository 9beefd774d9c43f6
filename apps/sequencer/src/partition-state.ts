import type { OrgSequences } from '#libs/domain';
import type { Covered } from './checkpoint-records.js';

/** What the sequencer holds of one partition, from its restoration until it can no longer be sure of it. */
export interface PartitionState {
  /** The group generation in which it was restored. */
  readonly generation: number;
  readonly sequences: OrgSequences;
  /** What the log holds: up to these offsets everything is appended. */
  appended: Covered;
  /** What the checkpoint in the sequences topic covers. */
  checkpointed: Covered;
  /** Where the next checkpoint record will stand, as long as no other sequencer writes one. */
  sequencesNext: number;
  /** Appended since the checkpoint. */
  uncheckpointed: { records: number; bytes: number };
}
