import { parseDeliveryId, parseEndpointId, parseEventId, parseOrgId, seqFromText, type DueAttempt } from '#libs/domain';
import type { NewRecord, StoredRecord } from '../record.js';
import { TRACEPARENT_HEADER } from './inbox-records.js';

/** A record of the attempts and retry topics, keyed by endpoint id; the value is the stored envelope as it is. */
export function attemptRecord(topic: string, due: DueAttempt): NewRecord {
  const { delivery } = due;
  return {
    topic,
    key: delivery.endpointId,
    value: due.envelope,
    headers: {
      'delivery-id': delivery.deliveryId,
      'org-id': delivery.orgId,
      'event-id': delivery.eventId,
      'event-type': delivery.event,
      seq: String(delivery.seq),
      'created-at-ms': String(delivery.createdAtMs),
      run: String(due.run),
      attempt: String(due.attempt),
      'due-at-ms': String(due.dueAtMs),
      ...(due.traceparent === null ? {} : { [TRACEPARENT_HEADER]: due.traceparent }),
    },
  };
}

/** When the attempt is due, in epoch milliseconds, without reading the rest of it. */
export function dueAtMs(record: StoredRecord): number {
  return Number(record.headers['due-at-ms'] ?? 0);
}

function natural(text: string | undefined): number | undefined {
  const value = Number(text);
  return text !== undefined && /^\d{1,16}$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

/** `undefined` for what is not an attempt. */
export function readAttemptRecord(record: StoredRecord): DueAttempt | undefined {
  const { headers } = record;
  const deliveryId = parseDeliveryId(headers['delivery-id']);
  const endpointId = parseEndpointId(record.key?.toString());
  const orgId = parseOrgId(headers['org-id']);
  const eventId = parseEventId(headers['event-id']);
  const event = headers['event-type'];
  const seq = headers['seq'];
  const createdAtMs = natural(headers['created-at-ms']);
  const run = natural(headers['run']);
  const attempt = natural(headers['attempt']);
  const due = natural(headers['due-at-ms']);
  if (
    deliveryId === undefined ||
    endpointId === undefined ||
    orgId === undefined ||
    eventId === undefined ||
    event === undefined ||
    natural(seq) === undefined ||
    createdAtMs === undefined ||
    run === undefined ||
    attempt === undefined ||
    due === undefined ||
    record.value === null
  ) {
    return undefined;
  }
  return {
    delivery: { deliveryId, endpointId, orgId, eventId, event, seq: seqFromText(seq ?? ''), createdAtMs },
    run,
    attempt,
    dueAtMs: due,
    traceparent: headers[TRACEPARENT_HEADER] ?? null,
    envelope: record.value,
  };
}
