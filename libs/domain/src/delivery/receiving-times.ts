import type { Seq } from '../kernel/index.js';

/** The end of an org's log at a moment. */
export interface LogEnd {
  /** The seq of the org's latest event in the feed. */
  readonly afterSeq: Seq;
  /** The end offset of the org's partition, or `null` if it was not asked for. The feed may lag. */
  readonly endOffset: number | null;
}

/** A moment at which an endpoint starts to receive. */
export interface LogMoment extends LogEnd {
  /** By the clock of the process that asked, in epoch milliseconds. */
  readonly atMs: number;
}

/** A period in which an endpoint was inactive. */
export interface InactivePeriod {
  readonly began: LogEnd;
  readonly ended: LogMoment;
}

/** The part of its org's log that an endpoint receives. */
export interface ReceivingTimes {
  /** It receives later events. */
  readonly created: LogMoment;
  /** It does not receive events from these periods. */
  readonly inactive: readonly InactivePeriod[];
}

/** The place of an event in the log. */
export interface LoggedPlace {
  readonly seq: Seq;
  readonly offset: number;
  /** The broker's time, epoch milliseconds. */
  readonly appendedAtMs: number;
}

/** Why an event is not routed to an endpoint that would receive it now. */
export type OutOfTime = 'before_endpoint' | 'while_inactive';

/** The largest difference between the clocks of brokers and api. */
const CLOCK_SKEW_MS = 10 * 60_000;

/** Compares by seq, which is known up to the feed, and by offset, which is known up to the end of the log. */
function stoodIn({ seq, offset }: LoggedPlace, { afterSeq, endOffset }: LogEnd): boolean {
  return seq <= afterSeq || (endOffset !== null && offset < endOffset);
}

/** Offsets start again in a log that was created again. Its events are later by their time. */
function precedes(event: LoggedPlace, moment: LogMoment): boolean {
  return event.seq <= moment.afterSeq || (stoodIn(event, moment) && event.appendedAtMs <= moment.atMs + CLOCK_SKEW_MS);
}

/** Returns why the endpoint must not receive the event, or `undefined` if it does. In doubt, it does. */
export function outOfTime({ created, inactive }: ReceivingTimes, event: LoggedPlace): OutOfTime | undefined {
  if (precedes(event, created)) return 'before_endpoint';
  const isInactive = inactive.some(({ began, ended }) => !stoodIn(event, began) && precedes(event, ended));
  return isInactive ? 'while_inactive' : undefined;
}
