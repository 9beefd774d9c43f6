import { ValidateBy } from 'class-validator';
import type { FieldProblem, JsonObject } from '#libs/domain';

/**
 * Returns the problems of a member's value. Pointers are relative: empty for the member itself, `/0` for its first
 * element.
 */
export type MemberCheck = (value: unknown) => readonly FieldProblem[];

/** The values that a member of a body may have: as a check, and as JSON Schema for callers. */
export interface MemberRule {
  readonly check: MemberCheck;
  readonly schema: JsonObject;
}

/**
 * Checks a member of a DTO with the rule, even if it is absent. The rule is also the context of the validation error.
 */
export function Checked(rule: MemberRule): PropertyDecorator {
  return ValidateBy(
    { name: 'checked', validator: { validate: (value: unknown) => rule.check(value).length === 0 } },
    // class-validator passes the context on only with a message.
    { message: 'is not valid', context: rule },
  );
}
