import { ValidateBy } from 'class-validator';
import type { FieldProblem } from '#libs/domain';

/** A problem of a member's value. Its pointer is relative to the member: empty for itself, `/0` for an element. */
export type MemberCheck = (value: unknown) => readonly FieldProblem[];

/** The failed check in a validation error, so that the response has pointers and codes. */
export interface CheckContext {
  readonly check: MemberCheck;
}

/** A member of a DTO that has to pass the check; combine with `@IsOptional` where it may be absent or null. */
export function Checked(check: MemberCheck): PropertyDecorator {
  return ValidateBy(
    { name: 'checked', validator: { validate: (value: unknown) => check(value).length === 0 } },
    // Without a message, class-validator passes no context on.
    { message: 'is not valid', context: { check } satisfies CheckContext },
  );
}
