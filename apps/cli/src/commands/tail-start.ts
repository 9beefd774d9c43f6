import { seqFromText, type Seq } from '#libs/domain';
import { parseTimestamp } from '#libs/event-validation';
import { parseDuration } from '#libs/runtime';

/** Where `tail` begins. */
export type TailStart =
  /** At the next event. */
  | { readonly kind: 'next' }
  /** At this event of the org. */
  | { readonly kind: 'seq'; readonly seq: Seq }
  /** At the first event that was appended at this time or later. */
  | { readonly kind: 'time'; readonly timeMs: number };

/**
 * Reads `--from`: a seq (`4128`), a time (`2026-03-01T12:00:00Z`) or an age (`15m`).
 * @returns undefined for anything else
 */
export function parseTailStart(text: string, nowMs: number): TailStart | undefined {
  if (/^\d{1,15}$/.test(text)) return { kind: 'seq', seq: seqFromText(text) };
  const agoMs = parseDuration(text);
  const timeMs = agoMs === undefined ? parseTimestamp(text) : nowMs - agoMs;
  return timeMs === undefined ? undefined : { kind: 'time', timeMs };
}
