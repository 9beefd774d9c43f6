import { elementSlices, GaplessError, memberSlices, type OrgId } from '#libs/domain';
import { isJsonObject } from './json-object.js';
import type { EventRules } from './event-members.js';
import { parseEvent, type SubmittedEvent } from './parse-event.js';
import { ProblemList } from './problem-list.js';
import { readJson } from './read-json.js';
import { refuseUnknownMembers } from './unknown-members.js';

/** The size limits of one ingest request, in bytes of the text as sent and in events. */
export interface IngestLimits {
  readonly maxEvents: number;
  readonly maxEventBytes: number;
  readonly maxRequestBytes: number;
}

/** The limits of contract 5.6. */
export const INGEST_LIMITS: IngestLimits = {
  maxEvents: 500,
  maxEventBytes: 256 * 1024,
  maxRequestBytes: 4 * 1024 * 1024,
};

export interface SubmissionContext {
  /** The organization of the API key; null for a service key, whose events name their organization. */
  readonly orgOfKey: OrgId | null;
  /** When the request arrived, in milliseconds since the Unix epoch. */
  readonly nowMs: number;
  readonly limits: IngestLimits;
}

const MEMBERS: ReadonlySet<string> = new Set(['events']);
// The body, `events` and the event are three levels above `data`.
const LEVELS_ABOVE_DATA = 3;

function tooLarge(detail: string): GaplessError {
  return new GaplessError('payload_too_large', detail);
}

/** Returns the body's `events`; undefined after adding a problem. */
function readEvents(body: unknown, problems: ProblemList): readonly unknown[] | undefined {
  if (!isJsonObject(body)) {
    problems.add('#', 'wrong_type', 'must be an object');
    return undefined;
  }
  refuseUnknownMembers(body, MEMBERS, '#', problems);
  const { events } = body;
  if (events === undefined) problems.add('#/events', 'required', 'is required');
  else if (!Array.isArray(events)) problems.add('#/events', 'wrong_type', 'must be an array');
  else if (events.length === 0) problems.add('#/events', 'out_of_range', 'must hold at least one event');
  else return events as readonly unknown[];
  return undefined;
}

/** Returns the text of each event, after checking that none is too large. */
function sliceEvents(body: string, limits: IngestLimits): readonly string[] {
  const texts = elementSlices(memberSlices(body).get('events') ?? '[]');
  for (const [index, text] of texts.entries()) {
    if (Buffer.byteLength(text) > limits.maxEventBytes) {
      throw tooLarge(`#/events/${index} is larger than ${limits.maxEventBytes} bytes.`);
    }
  }
  return texts;
}

/**
 * Reads the body of `POST /internal/events` (contract 5.6). Returns all its events in order, or throws.
 *
 * If a request has several faults, an exceeded limit is reported first, then a foreign organization, then all others
 * together. An id may occur twice: the second event is a repeat of the first and gets the same answer.
 *
 * @throws GaplessError
 *   `malformed_request`: the body is not UTF-8 or not JSON;
 *   `payload_too_large`: the body exceeds the limits of bytes or events;
 *   `insufficient_scope`: an event names another organization than the key's;
 *   `unknown_event_type`: the only problems are types that do not exist or cannot be submitted;
 *   `validation_failed`: anything else. The last three carry the problems (100 at most) with their pointers.
 */
export function parseSubmission(body: Buffer, context: SubmissionContext): readonly SubmittedEvent[] {
  const { limits } = context;
  if (body.byteLength > limits.maxRequestBytes) {
    throw tooLarge(`The body is larger than ${limits.maxRequestBytes} bytes.`);
  }
  const { value, text } = readJson(body, LEVELS_ABOVE_DATA);
  const problems = new ProblemList();
  const values = readEvents(value, problems);
  if (values === undefined) {
    problems.throwIfAny();
    return [];
  }
  if (values.length > limits.maxEvents) throw tooLarge(`The body has more than ${limits.maxEvents} events.`);
  const texts = sliceEvents(text, limits);
  const rules: EventRules = {
    idRequired: false,
    testAllowed: false,
    isFromGapless: false,
    boundTo: context.orgOfKey,
    receivedAtMs: context.nowMs,
  };
  const events = values.map((event, index) =>
    parseEvent(event, texts[index] ?? '', `#/events/${index}`, rules, problems),
  );
  problems.throwIfAny();
  return events.filter((event) => event !== undefined);
}
