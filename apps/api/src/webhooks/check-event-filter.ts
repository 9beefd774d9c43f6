import { checkFilter, checkSyntax, type FilterProblem } from '#libs/event-filter';
import type { EventSelection } from '#libs/postgres';
import { errorOf } from '../http/validation-error.js';

/**
 * Refuses a filter that is not for these event types (contract 3.7).
 * @throws GaplessError `validation_failed`, with the place of what is wrong
 */
export function checkEventFilter(filter: string | null, events: readonly string[]): void {
  if (filter !== null) refuseIf(filter, checkFilter(filter, events));
}

/** The same without types: members may be missing. */
export function checkFilterText(filter: string): void {
  refuseIf(filter, checkSyntax(filter));
}

/** The same for an endpoint that changes. */
export function checkSelection({ events, filter }: EventSelection): void {
  checkEventFilter(filter, events);
}

function refuseIf(filter: string, problem: FilterProblem | undefined): void {
  if (problem === undefined) return;
  const detail = filterProblemText(filter, problem);
  throw errorOf('validation_failed', [{ pointer: '#/filter', code: 'invalid_filter', detail }]);
}

/** Returns the place of the problem, and what it is. */
export function filterProblemText(filter: string, { offset, detail }: FilterProblem): string {
  const before = filter.slice(0, offset).split('\n');
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${detail}`;
}
