/** How far back a recovery reaches, as the dialog holds it. */
export interface ReachDraft {
  readonly kind: 'everything' | 'time' | 'seq';
  /** Local times, as `datetime-local` has them; an empty `until` has no end. */
  readonly since: string;
  readonly until: string;
  readonly seq: string;
}

/** The part of a recovery that says which events it covers. */
export type Range = { readonly since: string; readonly until?: string } | { readonly since_seq: number };

type ParsedReach =
  | { readonly kind: 'ok'; readonly range: Range }
  | { readonly kind: 'wrong'; readonly field: 'since' | 'until' | 'seq'; readonly reason: string };

/** Returns the range for the api, or which field is wrong. */
export function parseReach({ kind, since, until, seq }: ReachDraft): ParsedReach {
  switch (kind) {
    case 'everything':
      return { kind: 'ok', range: { since_seq: 0 } };
    case 'seq': {
      const first = Number(seq.trim().replace(/^#/, ''));
      if (!Number.isSafeInteger(first) || first < 1) {
        return { kind: 'wrong', field: 'seq', reason: 'A seq is a whole number from 1.' };
      }
      // The api leaves out the seq itself.
      return { kind: 'ok', range: { since_seq: first - 1 } };
    }
    case 'time': {
      const [sinceMs, untilMs] = [Date.parse(since), Date.parse(until)];
      if (Number.isNaN(sinceMs)) return { kind: 'wrong', field: 'since', reason: 'Give a date and a time.' };
      const range = { since: new Date(sinceMs).toISOString() };
      if (until === '') return { kind: 'ok', range };
      if (Number.isNaN(untilMs))
        return { kind: 'wrong', field: 'until', reason: 'Give a date and a time, or nothing.' };
      if (untilMs <= sinceMs) return { kind: 'wrong', field: 'until', reason: 'Must be later than the start.' };
      return { kind: 'ok', range: { ...range, until: new Date(untilMs).toISOString() } };
    }
  }
}

/** Returns a moment as `datetime-local` has it, to the minute. */
export function localInput(ms: number): string {
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length);
}
