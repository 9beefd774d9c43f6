import { ValidateBy } from 'class-validator';
import type { FieldProblem, JsonObject } from '#libs/domain';

/** The problems of a member's value. Their pointers are relative to the member: empty for itself, `/0` for an element. */
export type MemberCheck = (value: unknown) => readonly FieldProblem[];

/** What a member of a body may be, for the code and, as JSON Schema, for those who call it. */
export interface MemberRule {
  readonly check: MemberCheck;
  readonly schema: JsonObject;
}

/** A member of a DTO that has to obey the rule, be it there or not. The rule is the validation error's context, too. */
export function Checked(rule: MemberRule): PropertyDecorator {
  return ValidateBy(
    { name: 'checked', validator: { validate: (value: unknown) => rule.check(value).length === 0 } },
    // Without a message, class-validator passes no context on.
    { message: 'is not valid', context: rule },
  );
}
