import { isUtf8 } from 'node:buffer';
import { GaplessError } from '#libs/domain';
import { elementOnLevel, tooDeepAt } from './nesting.js';

/** A parsed JSON document with its text, so that slices can be kept as they were sent. */
export interface JsonDocument {
  readonly value: unknown;
  readonly text: string;
}

/** How a request with several events begins. */
const EVENTS = /^\s*\{\s*"events"\s*:\s*\[/;
const EVENTS_LEVEL = 2;

/** The most levels of objects and arrays in an event's `data`, itself included. */
export const MAX_DATA_DEPTH = 64;

/**
 * Parses bytes that hold an event's `data` some levels deep.
 * @throws GaplessError `malformed_request`: not UTF-8 or not JSON (a byte order mark is not allowed);
 *   `validation_failed`: `data` may nest more than `MAX_DATA_DEPTH` levels deep
 */
export function readJson(bytes: Buffer, levelsAboveData: number): JsonDocument {
  const text = readText(bytes, levelsAboveData);
  return { value: parseText(text), text };
}

/** Reads bytes that should be JSON, without parsing them. @throws GaplessError as `readJson` does */
export function readText(bytes: Buffer, levelsAboveData: number): string {
  if (!isUtf8(bytes)) throw new GaplessError('malformed_request', 'Not UTF-8.');
  const text = bytes.toString('utf8');
  if (text.startsWith('\ufeff')) throw new GaplessError('malformed_request', 'Begins with a byte order mark.');
  const at = tooDeepAt(text, MAX_DATA_DEPTH + levelsAboveData);
  if (at !== -1) {
    const pointer = pointerTo(text.slice(0, at));
    const detail = `must not nest deeper than ${MAX_DATA_DEPTH} levels within data`;
    throw new GaplessError('validation_failed', `${pointer}: ${detail}`, {
      problems: [{ pointer, code: 'too_deep', detail }],
    });
  }
  return text;
}

/** Names the event in which the beginning of a request ends. The request cannot be parsed to find it. */
function pointerTo(begin: string): string {
  const index = EVENTS.test(begin) ? elementOnLevel(begin, EVENTS_LEVEL) : -1;
  return index === -1 ? '#' : `#/events/${index}`;
}

/** @throws GaplessError `malformed_request`: not JSON */
export function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notJson(cause);
  }
}

export function notJson(cause: unknown): GaplessError {
  return new GaplessError('malformed_request', 'Not JSON.', { cause });
}
