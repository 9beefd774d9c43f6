import { GaplessError, type ErrorCode, type FieldProblem } from '#libs/domain';

/** The most problems in a response. More would not help the caller, and a response should not outgrow its request. */
export const MAX_PROBLEMS = 100;
/** Longest part of a member's name that is repeated to the caller. */
const MAX_NAME_LENGTH = 64;

/** The JSON Pointer (RFC 6901, fragment form) of a top-level member whose name the caller chose. */
export function memberPointer(name: string): string {
  // Lone surrogates have no UTF-8 form, so that encodeURIComponent would throw on them.
  const wellFormed = name.slice(0, MAX_NAME_LENGTH).replaceAll(/\p{Surrogate}/gu, '\ufffd');
  return `#/${encodeURIComponent(wellFormed.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
}

/** Returns the error with all of the problems. */
export function errorOf(
  code: ErrorCode,
  problems: readonly [FieldProblem, ...(readonly FieldProblem[])],
): GaplessError {
  const [first] = problems;
  return new GaplessError(code, `${first.pointer}: ${first.detail}`, { problems: problems.slice(0, MAX_PROBLEMS) });
}

/**
 * @throws GaplessError if there is any problem: `unknown_event_type` if all are of that kind, otherwise
 *   `validation_failed`
 */
export function throwIfInvalid(problems: readonly FieldProblem[]): void {
  const [first, ...others] = problems;
  if (first === undefined) return;
  const onlyUnknownTypes = problems.every((problem) => problem.code === 'unknown_event_type');
  throw errorOf(onlyUnknownTypes ? 'unknown_event_type' : 'validation_failed', [first, ...others]);
}
