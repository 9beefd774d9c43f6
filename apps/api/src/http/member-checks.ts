import type { FieldProblem } from '#libs/domain';
import type { MemberCheck } from './checked.decorator.js';

/** Characters that a text must not have: Postgres stores no NUL, UTF-8 no lone surrogate, and the rest is invisible. */
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]|\p{Surrogate}/u;

/** @param pointer to an element of the member; nothing for the member itself */
export function problem(code: string, detail: string, pointer = ''): FieldProblem {
  return { pointer, code, detail };
}

/** A member that must be there, and pass the check. */
export const required =
  (check: MemberCheck): MemberCheck =>
  (value) =>
    value === undefined ? [problem('required', 'is required')] : check(value);

export const aString: MemberCheck = (value) =>
  typeof value === 'string' ? [] : [problem('wrong_type', 'must be a string')];

/** @param maxLength in characters, as a reader counts them */
export const aTextOf =
  (maxLength: number): MemberCheck =>
  (value) => {
    if (typeof value !== 'string') return [problem('wrong_type', 'must be a string or null')];
    if (Array.from(value).length > maxLength) {
      return [problem('out_of_range', `must not be longer than ${maxLength} characters`)];
    }
    return UNPRINTABLE.test(value) ? [problem('invalid_format', 'must not hold control characters')] : [];
  };

/** A member that may be left out, but not be null. */
export const absentOr =
  (check: MemberCheck): MemberCheck =>
  (value) =>
    value === undefined ? [] : check(value);

export const aBoolean: MemberCheck = (value) =>
  typeof value === 'boolean' ? [] : [problem('wrong_type', 'must be true or false')];
