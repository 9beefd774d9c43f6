/** Why a partition stands still until an operator acts. */
export const STOP_CODES = ['sequences_behind_log', 'went_back'] as const;

export type StopCode = (typeof STOP_CODES)[number];

/** Details of a stopped partition for the operator. */
export interface PartitionStop {
  readonly code: StopCode;
  readonly topic: string;
  readonly partition: number;
  /** The offset at which the stage must continue. */
  readonly expectedOffset: number;
  /** The offset that the topic has instead. */
  readonly foundOffset: number;
  readonly reason: string;
  /** The command that the operator must run. */
  readonly command: string;
}

/**
 * To continue would break a promise, and a retry does not help. The partition stops without skipping records; the
 * others continue.
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
