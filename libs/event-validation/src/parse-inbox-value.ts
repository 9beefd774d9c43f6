import { GaplessError, isExampleId, isOperational, isOperationalId, type ErrorCode, type EventId } from '#libs/domain';
import { parseEvent, type SubmittedEvent } from './parse-event.js';
import { INGEST_LIMITS } from './parse-submission.js';
import { ProblemList } from './problem-list.js';
import { readJson } from './read-json.js';
import { isPrintableInstant } from './rfc3339.js';

export interface InboxRules {
  /** Whether the record names the only endpoint that gets it: a `test` event or an example, which only the api submits. */
  readonly hasTarget: boolean;
}

/** The content of an inbox record, or the reason why it becomes a dead letter. */
export type InboxReading =
  | { readonly ok: true; readonly event: SubmittedEvent & { readonly id: EventId } }
  | { readonly ok: false; readonly code: ErrorCode; readonly detail: string };

// The record is one level above its `data`.
const LEVELS_ABOVE_DATA = 1;
// The api adds id, time, organization and widget to the value if the producer left them out, in less than 400 bytes. An
// accepted event of the largest size must not become too large by that.
const MAX_VALUE_BYTES = INGEST_LIMITS.maxEventBytes + 1024;
/** Few, because the detail becomes a record header. */
const MAX_DETAIL_PROBLEMS = 5;

function refuse(code: ErrorCode, detail: string): InboxReading {
  return { ok: false, code, detail };
}

/** @throws GaplessError as in contract 5.6. */
function read(value: Buffer, key: Buffer | null, kafkaTimestampMs: number, rules: InboxRules): InboxReading {
  const document = readJson(value, LEVELS_ABOVE_DATA);
  const problems = new ProblemList();
  const event = parseEvent(
    document.value,
    document.text,
    '#',
    {
      idRequired: true,
      testAllowed: rules.hasTarget,
      isFromGapless: true,
      boundTo: null,
      receivedAtMs: kafkaTimestampMs,
    },
    problems,
  );
  // The key decides the partition. Another spelling of the same UUID would break the order of the org's events.
  if (event !== undefined && key?.toString('latin1') !== event.orgId) {
    problems.add('#/org_id', 'not_allowed', 'must be the key of the record, in lower case');
  }
  problems.throwIfAny();
  if (event === undefined) return refuse('validation_failed', '#: is not an event');
  const { id, event: type } = event;
  if (id === null) return refuse('validation_failed', '#/id: is required');
  // A record of another producer with such a type, or such an id, is most likely a mistake. Recoveries leave examples out.
  if (isOperational(type) !== isOperationalId(id) || (isExampleId(id) && !rules.hasTarget)) {
    return refuse('validation_failed', `#/id: is not an id that Gapless gives to ${type}`);
  }
  return { ok: true, event: { ...event, id } };
}

/**
 * Reads an inbox record (contract 5.6, 10). The rules are those of `parseSubmission`, with these additions. The record
 * must have an id and an `org_id` equal to its key. The record's timestamp is the default of `occurred_at`. The
 * event may be 24 hours ahead of it, and 10 minutes more, since the clocks of brokers and of the api differ. Never throws, and depends on its arguments alone, so that the sequencer's
 * fold always has the same result.
 *
 * @param value The record's value: `{id, event, occurred_at?, org_id, widget_id?, data}`.
 * @param key The record's key: the org id in lower case.
 * @param kafkaTimestampMs The record's timestamp, in milliseconds since the Unix epoch.
 */
export function parseInboxValue(
  value: Buffer | null,
  key: Buffer | null,
  kafkaTimestampMs: number,
  rules: InboxRules,
): InboxReading {
  if (value === null) return refuse('malformed_request', 'The record has no value.');
  if (value.byteLength > MAX_VALUE_BYTES) {
    return refuse('payload_too_large', `The value is larger than ${MAX_VALUE_BYTES} bytes.`);
  }
  // In Kafka, -1 means no timestamp.
  if (kafkaTimestampMs < 0 || !isPrintableInstant(kafkaTimestampMs)) {
    return refuse('validation_failed', 'The record has no usable timestamp.');
  }
  try {
    return read(value, key, kafkaTimestampMs, rules);
  } catch (error) {
    if (!(error instanceof GaplessError)) throw error;
    const details = error.problems.slice(0, MAX_DETAIL_PROBLEMS).map(({ pointer, detail }) => `${pointer}: ${detail}`);
    return refuse(error.code, details.length === 0 ? error.detail : details.join('; '));
  }
}
