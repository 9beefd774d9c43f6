/** Why a partition stands still until somebody acts. */
export const STOP_CODES = ['sequences_behind_log', 'went_back'] as const;

export type StopCode = (typeof STOP_CODES)[number];

/** What an operator needs to know about a stopped partition. */
export interface PartitionStop {
  readonly code: StopCode;
  readonly topic: string;
  readonly partition: number;
  /** The offset that the stage has to go on from. */
  readonly expectedOffset: number;
  /** The offset that the topic has instead. */
  readonly foundOffset: number;
  readonly reason: string;
  /** The command to run. */
  readonly command: string;
}

/**
 * Going on would break a promise, and trying again does not help: the partition stops, the others go on. Nothing is
 * skipped.
 */
export class PartitionStoppedError extends Error {
  override readonly name = 'PartitionStoppedError';

  constructor(readonly stop: PartitionStop) {
    super(
      `${stop.topic}/${stop.partition} is stopped (${stop.code}): ${stop.reason} ` +
        `Expected offset ${stop.expectedOffset}, found ${stop.foundOffset}. Run \`${stop.command}\`.`,
    );
  }
}
