import {
  parseDeliveryId,
  parseEndpointId,
  parseEventId,
  parseOrgId,
  UNKNOWN_PREVIOUS,
  type DueAttempt,
  type Seq,
} from '#libs/domain';
import type { NewRecord, StoredRecord } from './record.js';

/** Holds all parts of an attempt except its envelope. One header, because each header costs time at both ends. */
const ATTEMPT_HEADER = 'attempt';

/**
 * The header's JSON: delivery id, org id, event id, event type, seq, created at, run, attempt, waits until,
 * traceparent, lead, due at, 1 if urgent, the seq of the event before it. The last ones are missing if the lead is 0, if
 * the attempt is due when it has waited, if it is not urgent, and if the delivery is in no chain.
 */
type AttemptTuple = readonly [
  ...[string, string, string, string, number, number, number, number, number, string | null],
  ...(
    | readonly []
    | readonly [number]
    | readonly [number, number]
    | readonly [number, number, 1]
    | readonly [number, number, 0 | 1, number]
  ),
];
const WAITS_UNTIL_PLACE = 8;

/**
 * Makes a record of the attempts and retry topics, keyed by endpoint id. Its value is the stored envelope, unchanged.
 */
export function attemptRecord(topic: string, due: DueAttempt, waitUntilMs = due.dueAtMs): NewRecord {
  const { delivery, run, attempt, traceparent } = due;
  const { deliveryId, orgId, eventId, event, seq, createdAtMs } = delivery;
  const tuple: AttemptTuple = [
    ...([deliveryId, orgId, eventId, event, seq, createdAtMs, run, attempt, waitUntilMs, traceparent] as const),
    ...restOf(due, waitUntilMs),
  ];
  return {
    topic,
    key: delivery.endpointId,
    value: due.envelope,
    headers: { [ATTEMPT_HEADER]: JSON.stringify(tuple) },
  };
}

function restOf({ delivery, leadMs = 0, dueAtMs }: DueAttempt, waitUntilMs: number) {
  const { previousSeq } = delivery;
  if (typeof previousSeq === 'number') {
    return [leadMs, dueAtMs, delivery.isUrgent === true ? 1 : 0, previousSeq] as const;
  }
  if (delivery.isUrgent === true) return [leadMs, dueAtMs, 1] as const;
  if (waitUntilMs !== dueAtMs) return [leadMs, dueAtMs] as const;
  return leadMs === 0 ? ([] as const) : ([leadMs] as const);
}

function natural(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

function previousSeqIn(value: unknown): number | undefined {
  return value === UNKNOWN_PREVIOUS ? UNKNOWN_PREVIOUS : natural(value);
}

function readTuple(text: string | undefined): readonly unknown[] {
  if (text === undefined) return [];
  try {
    const tuple: unknown = JSON.parse(text);
    return Array.isArray(tuple) ? (tuple as readonly unknown[]) : [];
  } catch {
    return [];
  }
}

/**
 * Returns until when the attempt waits in its topic, in epoch milliseconds, without reading the rest; 0 if the record is not
 * an attempt.
 */
export function waitsUntilMs(record: StoredRecord): number {
  return natural(readTuple(record.headers[ATTEMPT_HEADER])[WAITS_UNTIL_PLACE]) ?? 0;
}

/** Returns `undefined` if the record is not an attempt. */
export function readAttemptRecord(record: StoredRecord): DueAttempt | undefined {
  const tuple = readTuple(record.headers[ATTEMPT_HEADER]);
  const endpointId = parseEndpointId(record.key?.toString());
  const [deliveryId, orgId, eventId] = [parseDeliveryId(tuple[0]), parseOrgId(tuple[1]), parseEventId(tuple[2])];
  const event = tuple[3];
  const [seq, createdAtMs, run, attempt, waitUntilMs] = tuple.slice(4, 9).map(natural);
  const traceparent = tuple[9];
  const leadMs = natural(tuple[10]) || undefined;
  const dueAtMs = natural(tuple[11]) ?? waitUntilMs;
  const urgency = tuple[12] === 1 ? ({ isUrgent: true } as const) : {};
  const previousSeq = previousSeqIn(tuple[13]);
  const chained = previousSeq === undefined ? {} : { previousSeq };
  if (
    deliveryId === undefined ||
    endpointId === undefined ||
    orgId === undefined ||
    eventId === undefined ||
    typeof event !== 'string' ||
    seq === undefined ||
    createdAtMs === undefined ||
    run === undefined ||
    attempt === undefined ||
    dueAtMs === undefined ||
    (traceparent !== null && typeof traceparent !== 'string') ||
    record.value === null
  ) {
    return undefined;
  }
  return {
    delivery: { deliveryId, endpointId, orgId, eventId, event, seq: seq as Seq, createdAtMs, ...urgency, ...chained },
    run,
    attempt,
    dueAtMs,
    ...(leadMs === undefined ? {} : { leadMs }),
    traceparent,
    envelope: record.value,
  };
}
