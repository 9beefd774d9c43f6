import { inboxValue, type EndpointId, type InboxEvent } from '#libs/domain';
import type { NewRecord } from '../record.js';

/** Marks a test event with the only endpoint that it is meant for, in the inbox and in the log. */
export const TARGET_ENDPOINT_HEADER = 'target-endpoint';
export const TRACEPARENT_HEADER = 'traceparent';

/** A record of the inbox, keyed by org id so that an org's events stay in order. */
export function inboxRecord(
  topic: string,
  event: InboxEvent,
  context: { readonly traceparent: string; readonly targetEndpoint?: EndpointId },
): NewRecord {
  return {
    topic,
    key: event.orgId,
    value: inboxValue(event),
    headers: {
      [TRACEPARENT_HEADER]: context.traceparent,
      ...(context.targetEndpoint === undefined ? {} : { [TARGET_ENDPOINT_HEADER]: context.targetEndpoint }),
    },
  };
}
