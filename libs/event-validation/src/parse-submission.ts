import { setImmediate } from 'node:timers/promises';
import {
  elementSlices,
  GaplessError,
  JsonTextError,
  memberSlices,
  uncheckedElements,
  uncheckedMembers,
  type OrgId,
} from '#libs/domain';
import { isJsonObject } from './json-object.js';
import type { EventRules } from './event-members.js';
import { parseEvent, type SubmittedEvent } from './parse-event.js';
import { ProblemList } from './problem-list.js';
import { notJson, parseText, readJson, readText } from './read-json.js';
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
/**
 * A larger body is parsed event by event, with other work of the thread in between: half a second of it would be 4 MiB of small
 * values.
 */
const WHOLE_BYTES = 128 * 1024;
/** Text that is parsed before other work of the thread runs: a few milliseconds. */
const STEP_BYTES = 32 * 1024;
/** How long steps of all bodies may take in a turn of the event loop, milliseconds; the last one may take longer. */
const TURN_MS = 2;
/** More than a body has, so that only refused ones are cut. */
const MAX_MEMBERS = 50;

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

/** @throws GaplessError `payload_too_large` for the first event that is too large */
function refuseLarge(texts: readonly string[], limits: IngestLimits): void {
  for (const [index, text] of texts.entries()) {
    if (Buffer.byteLength(text) > limits.maxEventBytes) {
      throw tooLarge(`#/events/${index} is larger than ${limits.maxEventBytes} bytes.`);
    }
  }
}

/** The events of a body: what they are and how they were written. */
interface Events {
  readonly texts: readonly string[];
  valueAt(index: number): unknown;
}

/** Reads the body at once. @returns undefined after adding a problem */
function readWhole(body: Buffer, limits: IngestLimits, problems: ProblemList): Events | undefined {
  const { value, text } = readJson(body, LEVELS_ABOVE_DATA);
  const values = readEvents(value, problems);
  if (values === undefined) return undefined;
  if (values.length > limits.maxEvents) throw tooManyEvents(limits);
  const texts = elementSlices(memberSlices(text).get('events') ?? '[]');
  refuseLarge(texts, limits);
  return { texts, valueAt: (index) => values[index] };
}

/** Reads the frame of the body. Each event is parsed when it is asked for. @returns undefined after adding a problem */
function readFrame(body: Buffer, limits: IngestLimits, problems: ProblemList): Events | undefined {
  const text = readText(body, LEVELS_ABOVE_DATA);
  const members = uncheckedMembers(text, MAX_MEMBERS);
  if (members === undefined) {
    readEvents(null, problems);
    return undefined;
  }
  const at = members.parts.findLastIndex(({ name }) => name === 'events');
  const elements = uncheckedElements(members.parts[at]?.text ?? '', limits.maxEvents);
  const others = members.parts.filter((_, index) => index !== at || elements === undefined);
  if (others.reduce((bytes, other) => bytes + Buffer.byteLength(other.text), 0) > limits.maxEventBytes) {
    throw tooLarge(`The body has more than ${limits.maxEventBytes} bytes outside of its events.`);
  }
  const frame = Object.fromEntries(others.map((other) => [other.name, parseText(other.text)]));
  if (elements !== undefined) frame['events'] = elements.parts;
  if (readEvents(frame, problems) === undefined || elements === undefined) return undefined;
  if (!members.isAll) {
    problems.throwIfAny();
    throw tooLarge(`The body has more than ${MAX_MEMBERS} members.`);
  }
  if (!elements.isAll) throw tooManyEvents(limits);
  const texts = elements.parts;
  refuseLarge(texts, limits);
  return { texts, valueAt: (index) => parseText(texts[index] ?? '') };
}

function tooManyEvents({ maxEvents }: IngestLimits): GaplessError {
  return tooLarge(`The body has more than ${maxEvents} events.`);
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
  const steps = submissionSteps(body, context);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Does what `parseSubmission` does, and lets other work of the thread run in between. All bodies share the time in each
 * turn of the event loop. Otherwise eight imports together would make each turn, and so each other request, eight times
 * as long.
 */
export class SubmissionParser {
  /** When the steps of this turn of the event loop end, by the monotonic clock. */
  #turnEndsMs = -Infinity;
  #nextTurn: Promise<void> | undefined;

  /** @throws as `parseSubmission` */
  async parse(body: Buffer, context: SubmissionContext): Promise<readonly SubmittedEvent[]> {
    const steps = submissionSteps(body, context);
    for (let isWhole = body.byteLength <= WHOLE_BYTES; ; isWhole = false) {
      if (!isWhole) await this.#roomForAStep();
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  /** Resolves in a turn of the event loop that has time left for a step. */
  async #roomForAStep(): Promise<void> {
    while (performance.now() >= this.#turnEndsMs) {
      await (this.#nextTurn ??= setImmediate().then(() => {
        this.#nextTurn = undefined;
        this.#turnEndsMs = performance.now() + TURN_MS;
      }));
    }
  }
}

/** @param wholeBytes the largest body that is parsed at once */
export function* submissionSteps(
  body: Buffer,
  context: SubmissionContext,
  wholeBytes = WHOLE_BYTES,
): Generator<undefined, readonly SubmittedEvent[], undefined> {
  const { limits } = context;
  if (body.byteLength > limits.maxRequestBytes) {
    throw tooLarge(`The body is larger than ${limits.maxRequestBytes} bytes.`);
  }
  const problems = new ProblemList();
  const found = body.byteLength > wholeBytes ? inFrame(body, limits, problems) : readWhole(body, limits, problems);
  if (found === undefined) {
    problems.throwIfAny();
    return [];
  }
  const rules: EventRules = {
    idRequired: false,
    testAllowed: false,
    isFromGapless: false,
    boundTo: context.orgOfKey,
    receivedAtMs: context.nowMs,
  };
  const events: SubmittedEvent[] = [];
  let sinceStep = 0;
  for (const [index, text] of found.texts.entries()) {
    const event = parseEvent(found.valueAt(index), text, `#/events/${index}`, rules, problems);
    if (event !== undefined) events.push(event);
    sinceStep += text.length;
    if (sinceStep < STEP_BYTES) continue;
    sinceStep = 0;
    yield;
  }
  problems.throwIfAny();
  return events;
}

function inFrame(body: Buffer, limits: IngestLimits, problems: ProblemList): Events | undefined {
  try {
    return readFrame(body, limits, problems);
  } catch (error) {
    throw error instanceof JsonTextError ? notJson(error) : error;
  }
}
