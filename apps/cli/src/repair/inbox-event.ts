import { parseEndpointId, type InboxEvent } from '#libs/domain';
import { parseInboxValue } from '#libs/event-validation';
import { TARGET_ENDPOINT_HEADER, type StoredRecord } from '#libs/kafka-log';

/** Returns the event of an inbox record; `undefined` if the record is invalid, so that it belongs in the dead letters. */
export function inboxEventOf(record: StoredRecord): InboxEvent | undefined {
  if (record.unreadable !== undefined) return undefined;
  const hasTarget = parseEndpointId(record.headers[TARGET_ENDPOINT_HEADER]) !== undefined;
  const reading = parseInboxValue(record.value, record.key, record.timestampMs, { hasTarget });
  return reading.ok ? reading.event : undefined;
}
