import { Checked } from '../http/checked.decorator.js';
import { absentOr, anIntegerOf, described } from '../http/member-rules.js';
import { givenSecret } from './webhook-members.js';

/** A day: longer than any deployment of consumers takes. */
const MAX_OVERLAP_SECONDS = 86_400;

/** The body of `POST …/rotate-secret`, which may be left out. */
export class RotateSecretDto {
  @Checked(
    absentOr(
      described(anIntegerOf(0, MAX_OVERLAP_SECONDS), {
        default: 0,
        description: 'How long the old secret signs, too.',
      }),
    ),
  )
  readonly overlap_seconds?: number;

  @Checked(absentOr(givenSecret))
  readonly secret?: string;
}
