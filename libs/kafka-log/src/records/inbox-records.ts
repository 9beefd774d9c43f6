import { inboxValue, type EndpointId, type InboxEvent } from '#libs/domain';
import type { NewRecord, StoredRecord } from './record.js';

/** Marks a test event with the only endpoint that it is meant for, in the inbox and in the log. */
export const TARGET_ENDPOINT_HEADER = 'target-endpoint';
export const TRACEPARENT_HEADER = 'traceparent';
/** The log offset up to which the producer has looked the event's id up, without finding it. */
export const CHECKED_TO_HEADER = 'checked-to';
const OFFSET = /^\d{1,15}$/;

/** A record of the inbox, keyed by org id so that an org's events stay in order. */
export function inboxRecord(
  topic: string,
  event: InboxEvent,
  context: {
    readonly traceparent: string;
    readonly targetEndpoint?: EndpointId;
    /** For an id that may come again: everything of the log before this offset is known not to hold it. */
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

/** Up to where the producer has looked the id up; `null` if it has not, or wrote something that is not an offset. */
export function checkedTo(record: StoredRecord): number | null {
  const text = record.headers[CHECKED_TO_HEADER];
  return text !== undefined && OFFSET.test(text) ? Number(text) : null;
}
