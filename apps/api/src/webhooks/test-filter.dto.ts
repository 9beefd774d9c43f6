import { MAX_FILTER_LENGTH } from '#libs/domain';
import { Checked } from '../http/checked.decorator.js';
import { absentOrNull, anIntegerOf, aTextOf, described, required } from '../http/member-rules.js';
import { someEventTypes } from './webhook-members.js';

/** The body of `POST /external/webhooks/filter-test` (contract 3.7). */
export class TestFilterDto {
  @Checked(required(described(aTextOf(MAX_FILTER_LENGTH), { description: 'The expression in CEL.' })))
  readonly filter!: string;

  @Checked(
    absentOrNull(
      described(someEventTypes, {
        description:
          'Only events of these types, which the filter is checked against. Default: all, without the check.',
      }),
    ),
  )
  readonly events?: readonly string[] | null;

  @Checked(
    absentOrNull(
      described(anIntegerOf(0, Number.MAX_SAFE_INTEGER), { description: 'Only events with a greater seq.' }),
    ),
  )
  readonly since?: number | null;

  @Checked(absentOrNull(described(anIntegerOf(1, 1_000), { description: 'The most events. Default 100.' })))
  readonly limit?: number | null;
}
