import type { Seq } from '../kernel/index.js';

/** The end of an org's log at one moment. */
export interface LogEnd {
  /** The seq of the org's latest event in the feed. */
  readonly afterSeq: Seq;
  /** The end offset of the org's partition, or `null` if it was not asked for. The feed may lag. */
  readonly endOffset: number | null;
}

/** A moment at which an endpoint starts to receive. */
export interface LogMoment extends LogEnd {
  /** In epoch milliseconds, by the clock of the process that asked. */
  readonly atMs: number;
}

/** A period in which an endpoint was inactive. */
export interface InactivePeriod {
  readonly began: LogEnd;
  readonly ended: LogMoment;
}

/** The part of its org's log that an endpoint receives. */
export interface ReceivingTimes {
  /** The endpoint receives events after this moment. */
  readonly created: LogMoment;
  /** The endpoint receives no events from these periods. */
  readonly inactive: readonly InactivePeriod[];
}

/** The place of an event in the log. */
export interface LoggedPlace {
  readonly seq: Seq;
  readonly offset: number;
  /** The broker's time, epoch milliseconds. */
  readonly appendedAtMs: number;
}

/** Why an event is not routed to an endpoint that receives such events now. */
export type OutOfTime = 'before_endpoint' | 'while_inactive';

/** The largest difference between the clocks of brokers and api, milliseconds. */
const CLOCK_SKEW_MS = 10 * 60_000;

/**
 * Whether the event was in the log at that moment. It compares seqs, which are known up to the feed, and offsets, which
 * are known up to the end of the log.
 */
function stoodIn({ seq, offset }: LoggedPlace, { afterSeq, endOffset }: LogEnd): boolean {
  return seq <= afterSeq || (endOffset !== null && offset < endOffset);
}

/** Whether the event came before the moment. Offsets restart if the log was created again, so the time counts too. */
function precedes(event: LoggedPlace, moment: LogMoment): boolean {
  return event.seq <= moment.afterSeq || (stoodIn(event, moment) && event.appendedAtMs <= moment.atMs + CLOCK_SKEW_MS);
}

/** Returns why the endpoint must not receive the event; `undefined` if it receives it. In doubt, it does. */
export function outOfTime({ created, inactive }: ReceivingTimes, event: LoggedPlace): OutOfTime | undefined {
  if (precedes(event, created)) return 'before_endpoint';
  const isInactive = inactive.some(({ began, ended }) => !stoodIn(event, began) && precedes(event, ended));
  return isInactive ? 'while_inactive' : undefined;
}
