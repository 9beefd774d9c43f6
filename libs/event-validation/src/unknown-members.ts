import type { JsonObject } from '#libs/domain';
import { memberPointer } from './json-pointer.js';
import type { ProblemList } from './problem-list.js';

/** The most problems to report for one object. More would not help a caller, and each costs time. */
const MAX_UNKNOWN_MEMBERS = 20;

/** Adds a problem for each unknown member of the object, because a misspelt member must not count as left out. */
export function refuseUnknownMembers(
  object: JsonObject,
  known: ReadonlySet<string>,
  pointer: string,
  problems: ProblemList,
): void {
  const unknown = Object.keys(object).filter((name) => !known.has(name));
  for (const name of unknown.slice(0, MAX_UNKNOWN_MEMBERS)) {
    problems.add(memberPointer(pointer, name), 'unknown_member', 'is not a member that can be given here');
  }
}
