import {
  parseEndpointId,
  parseEventId,
  parseOrgId,
  parseWidgetId,
  seqFromText,
  type LogEvent,
  type Seq,
} from '#libs/domain';
import { UnreadableRecordError, type NewRecord, type StoredRecord } from './record.js';
import { TARGET_ENDPOINT_HEADER, TRACEPARENT_HEADER } from './inbox-records.js';

const SEQ_HEADER = 'seq';
const WIDGET_HEADER = 'widget-id';
/** The offset of the event's inbox record. The sequencer continues after it. */
const INBOX_OFFSET_HEADER = 'inbox-offset';
/**
 * When the broker received the inbox record, in epoch milliseconds; it restores the sequencer's window of ids. In a
 * record that was put back, it is when the event was first appended.
 */
const INBOX_TIME_HEADER = 'inbox-time';

const MARKS = 'the headers of the sequencer';

/** Set on records that a repair put back. They come from Postgres, and no inbox record has to match them. */
const PUT_BACK_HEADER = 'put-back';

/** The parts of an event that only the envelope and the CloudEvents headers hold. */
export interface LogRecordContext {
  readonly occurredAt: string;
  readonly inboxOffset: number;
  readonly inboxTimeMs: number;
  readonly isPutBack?: boolean;
}

/** The members of a log record that its envelope and key do not hold. */
export interface LogRecordPlace {
  /** When the event was first appended, in epoch milliseconds. A repair that puts it back keeps this time. */
  readonly appendedAtMs: number;
  /** Only the sequencer needs `inboxOffset` and `inboxTimeMs`. */
  readonly inboxOffset: number;
  readonly inboxTimeMs: number;
}

/**
 * Makes a record of the log: the envelope with CloudEvents headers in binary mode. It depends on the arguments alone.
 */
export function logRecord(event: LogEvent, context: LogRecordContext): Omit<NewRecord, 'topic' | 'partition'> {
  const headers: Record<string, string> = {
    [SEQ_HEADER]: String(event.seq),
    'content-type': 'application/json',
    ce_specversion: '1.0',
    ce_id: event.id,
    ce_type: event.event,
    ce_source: `/orgs/${event.orgId}`,
    ce_time: context.occurredAt,
    [INBOX_OFFSET_HEADER]: String(context.inboxOffset),
    [INBOX_TIME_HEADER]: String(context.inboxTimeMs),
  };
  if (context.isPutBack === true) headers[PUT_BACK_HEADER] = 'true';
  if (event.widgetId !== null) headers[WIDGET_HEADER] = event.widgetId;
  if (event.targetEndpoint !== null) headers[TARGET_ENDPOINT_HEADER] = event.targetEndpoint;
  if (event.traceparent !== null) headers[TRACEPARENT_HEADER] = event.traceparent;
  return { key: event.orgId, value: event.envelope, headers };
}

/** Whether a repair put the record back from Postgres. */
export function isPutBack({ headers }: StoredRecord): boolean {
  return headers[PUT_BACK_HEADER] !== undefined;
}

/**
 * Whether the record is not the sequencer's, which writes both marks. One alone may be chance: others use `seq`, too.
 * Readers of the log skip such records.
 */
export function isForeign({ headers, unreadable }: StoredRecord): boolean {
  return (headers[SEQ_HEADER] === undefined || headers[INBOX_OFFSET_HEADER] === undefined) && unreadable === undefined;
}

/** Reads the events of log records, each with its offset. It leaves out foreign records. @throws as `readLogRecord` */
export function readLogRecords(
  records: readonly StoredRecord[],
): readonly (LogEvent & LogRecordPlace & { readonly offset: number })[] {
  const own = records.some(isForeign) ? records.filter((record) => !isForeign(record)) : records;
  return own.map((record) => ({ ...readLogRecord(record), offset: record.offset }));
}

/**
 * @throws UnreadableRecordError when the record cannot be read. One with the marks of the sequencer may be of a newer
 *   version, so skipping it could lose an event.
 */
export function readLogRecord(record: StoredRecord): LogEvent & LogRecordPlace {
  const { headers } = record;
  const orgId = parseOrgId(record.key?.toString());
  const id = parseEventId(headers['ce_id']);
  const event = headers['ce_type'];
  const seq = headers[SEQ_HEADER];
  const inboxOffset = headers[INBOX_OFFSET_HEADER];
  if (
    orgId === undefined ||
    id === undefined ||
    event === undefined ||
    seq === undefined ||
    inboxOffset === undefined ||
    record.value === null
  ) {
    throw new UnreadableRecordError(record, MARKS);
  }
  // Earlier versions did not write this header. They appended within moments.
  const inboxTimeMs = Number(headers[INBOX_TIME_HEADER] ?? record.timestampMs);
  return {
    orgId,
    seq: seqOf(record, seq),
    id,
    event,
    widgetId: parseWidgetId(headers[WIDGET_HEADER]) ?? null,
    targetEndpoint: parseEndpointId(headers[TARGET_ENDPOINT_HEADER]) ?? null,
    traceparent: headers[TRACEPARENT_HEADER] ?? null,
    envelope: record.value,
    appendedAtMs: isPutBack(record) ? inboxTimeMs : record.timestampMs,
    inboxOffset: Number(inboxOffset),
    inboxTimeMs,
  };
}

/** @throws UnreadableRecordError when the header is not a seq */
function seqOf(record: StoredRecord, header: string): Seq {
  try {
    return seqFromText(header);
  } catch (cause) {
    throw new UnreadableRecordError(record, MARKS, { cause });
  }
}
