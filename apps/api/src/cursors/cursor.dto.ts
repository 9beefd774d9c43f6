import { Checked } from '../http/checked.decorator.js';
import { absentOrNull, anIntegerOf, described, required } from '../http/member-rules.js';

const aSeq = anIntegerOf(0, Number.MAX_SAFE_INTEGER);

/** The body of `PUT /external/cursors/:name`. */
export class MoveCursorDto {
  @Checked(required(described(aSeq, { description: 'The seq of the last event that was handled.' })))
  readonly seq!: number;

  @Checked(
    described(absentOrNull(aSeq), {
      description: 'Where the cursor must be now; null: it must not exist. Without it, the cursor only moves forward.',
    }),
  )
  readonly expected_seq?: number | null;
}
