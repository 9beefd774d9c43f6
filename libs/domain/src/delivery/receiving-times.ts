import type { Seq } from '../kernel/index.js';

/** How far an org's log was at some moment. */
export interface LogEnd {
  /** The org's latest event in the feed: it and all before it were there. */
  readonly afterSeq: Seq;
  /** Behind the last record of the org's partition; `null` where nobody asked. The feed may lag behind it. */
  readonly endOffset: number | null;
}

/** A moment from which on an endpoint receives. */
export interface LogMoment extends LogEnd {
  /** By the clock of whoever asked, epoch milliseconds. */
  readonly atMs: number;
}

/** A time in which an endpoint was inactive. */
export interface InactivePeriod {
  readonly began: LogEnd;
  readonly ended: LogMoment;
}

/** Which part of its org's log an endpoint receives. */
export interface ReceivingTimes {
  /** It receives what follows. */
  readonly created: LogMoment;
  /** What was appended while it was inactive is not for it. */
  readonly inactive: readonly InactivePeriod[];
}

/** An event of the log, and where it stands. */
export interface LoggedPlace {
  readonly seq: Seq;
  readonly offset: number;
  /** The broker's time, epoch milliseconds. */
  readonly appendedAtMs: number;
}

/** Why an event is not routed to an endpoint that would receive it now. */
export type OutOfTime = 'before_endpoint' | 'while_inactive';

/** By how much the clocks of brokers and of the api may differ. */
const CLOCK_SKEW_MS = 10 * 60_000;

/** Seqs stay what they are, but are known no further than the feed is. Offsets are known to the end of the log. */
function stoodIn({ seq, offset }: LoggedPlace, { afterSeq, endOffset }: LogEnd): boolean {
  return seq <= afterSeq || (endOffset !== null && offset < endOffset);
}

/** Offsets begin anew in a log that was made again: there, what is certainly later than the moment follows it. */
function precedes(event: LoggedPlace, moment: LogMoment): boolean {
  return event.seq <= moment.afterSeq || (stoodIn(event, moment) && event.appendedAtMs <= moment.atMs + CLOCK_SKEW_MS);
}

/** `undefined` when the event belongs to a time in which the endpoint receives: in doubt, it does. */
export function outOfTime({ created, inactive }: ReceivingTimes, event: LoggedPlace): OutOfTime | undefined {
  if (precedes(event, created)) return 'before_endpoint';
  const isInactive = inactive.some(({ began, ended }) => !stoodIn(event, began) && precedes(event, ended));
  return isInactive ? 'while_inactive' : undefined;
}
