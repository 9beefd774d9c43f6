import type { Seq } from '../kernel/index.js';

/** Events of an org with seqs greater than `after`, up to and including `until`. */
export interface SeqStretch {
  readonly after: Seq;
  readonly until: Seq;
}

/**
 * Which part of its org's log an endpoint receives. Seqs are used, not times or offsets: clocks differ between machines
 * and a topic can be made again, but the order of an org's events stays.
 */
export interface ReceivingTimes {
  /** The org's latest event when the endpoint was created: it receives what follows. */
  readonly receivesAfter: Seq;
  /** What was appended while it was inactive. */
  readonly inactive: readonly SeqStretch[];
}

/** Why an event is not routed to an endpoint that would receive it now. */
export type OutOfTime = 'before_endpoint' | 'while_inactive';

/** `undefined` when the event belongs to a time in which the endpoint receives. */
export function outOfTime({ receivesAfter, inactive }: ReceivingTimes, seq: Seq): OutOfTime | undefined {
  if (seq <= receivesAfter) return 'before_endpoint';
  return inactive.some(({ after, until }) => seq > after && seq <= until) ? 'while_inactive' : undefined;
}
