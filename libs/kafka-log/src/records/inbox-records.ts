import { inboxValue, type EndpointId, type InboxEvent } from '#libs/domain';
import type { NewRecord, StoredRecord } from './record.js';

/** Holds the only endpoint of a test event, in the inbox and in the log. */
export const TARGET_ENDPOINT_HEADER = 'target-endpoint';
export const TRACEPARENT_HEADER = 'traceparent';
/** Holds the log offset up to which the producer searched for the event's id without finding it. */
export const CHECKED_TO_HEADER = 'checked-to';
/**
 * The most records of the log between a stamp and the sequencer's window of ids: more than a partition gets in the minutes
 * between the api's look-up and its write. The sequencer ignores an older stamp.
 */
export const READ_BACK_RECORDS = 500_000;
const OFFSET = /^\d{1,15}$/;

/** Makes a record of the inbox, keyed by org id so that an org's events stay in order. */
export function inboxRecord(
  topic: string,
  event: InboxEvent,
  context: {
    readonly traceparent: string;
    readonly targetEndpoint?: EndpointId;
    /** For an id that may come again: the log before this offset does not hold it. */
    readonly checkedTo?: number;
  },
): NewRecord {
  return {
    topic,
    key: event.orgId,
    value: inboxValue(event),
    headers: {
      [TRACEPARENT_HEADER]: context.traceparent,
      ...(context.targetEndpoint === undefined ? {} : { [TARGET_ENDPOINT_HEADER]: context.targetEndpoint }),
      ...(context.checkedTo === undefined ? {} : { [CHECKED_TO_HEADER]: String(context.checkedTo) }),
    },
  };
}

/** Returns the offset up to which the producer searched for the id; `null` if it did not, or the header is invalid. */
export function checkedTo(record: StoredRecord): number | null {
  const text = record.headers[CHECKED_TO_HEADER];
  return text !== undefined && OFFSET.test(text) ? Number(text) : null;
}
