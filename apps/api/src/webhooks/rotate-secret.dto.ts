import { Checked, type MemberCheck } from '../http/checked.decorator.js';
import { absentOr, problem } from '../http/member-checks.js';

/** A day: longer than any deployment of consumers takes. */
const MAX_OVERLAP_SECONDS = 86_400;

const anOverlap: MemberCheck = (value) => {
  if (typeof value !== 'number') return [problem('wrong_type', 'must be a number')];
  return Number.isInteger(value) && value >= 0 && value <= MAX_OVERLAP_SECONDS
    ? []
    : [problem('out_of_range', `must be an integer from 0 to ${MAX_OVERLAP_SECONDS}`)];
};

/** The body of `POST …/rotate-secret`, which may be left out. */
export class RotateSecretDto {
  /** How long the old secret signs, too; 0 by default. */
  @Checked(absentOr(anOverlap))
  readonly overlap_seconds?: number;
}
