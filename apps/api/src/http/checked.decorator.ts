import { ValidateBy } from 'class-validator';
import type { FieldProblem } from '#libs/domain';

/** What is wrong with a member's value; pointers go on from the member: nothing for itself, `/0` for an element. */
export type MemberCheck = (value: unknown) => readonly FieldProblem[];

/** What a validation error carries of the check that failed, so that it can be told with pointers and codes. */
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
