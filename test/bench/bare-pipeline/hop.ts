/** What a part of the bare pipeline does with the records of a topic. */
export type Hop =
  | { readonly kind: 'count'; readonly from: string }
  /** Writes each record to another topic, as it is. */
  | { readonly kind: 'forward'; readonly from: string; readonly to: string }
  /** Signs each record's value and POSTs it. */
  | {
      readonly kind: 'push';
      readonly from: string;
      readonly url: string;
      /** How many requests are on their way at the same time, at most. */
      readonly connections: number;
      /** The topic that gets the outcome of each push, if any. */
      readonly outcomesTo: string | undefined;
    };

/** The header that names a record's event. */
export const EVENT_ID_HEADER = 'id';

/** The header that says when the event was handed to the client, by `monotonicMs`. */
export const SENT_AT_HEADER = 'sent-at';
