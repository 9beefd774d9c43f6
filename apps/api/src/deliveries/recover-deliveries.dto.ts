import type { Seq } from '#libs/domain';
import { parseTimestamp } from '#libs/event-validation';
import { RECOVERY_KINDS, type RecoveryKind, type RecoveryRange } from '#libs/postgres';
import { Checked } from '../http/checked.decorator.js';
import { aBoolean, absentOrNull, anIntegerOf, aTimestamp, described, oneOf } from '../http/member-rules.js';
import { throwIfInvalid } from '../http/validation-error.js';

/** The body of `POST …/recover` (contract 4.4). */
export class RecoverDeliveriesDto {
  @Checked(
    absentOrNull(
      described(anIntegerOf(0, Number.MAX_SAFE_INTEGER), {
        description: 'Events with a greater seq. Set this or since.',
      }),
    ),
  )
  readonly since_seq?: number | null;

  @Checked(
    absentOrNull(
      described(aTimestamp, { description: 'Events appended at this time or later. Set this or since_seq.' }),
    ),
  )
  readonly since?: string | null;

  @Checked(absentOrNull(aTimestamp))
  readonly until?: string | null;

  @Checked(
    absentOrNull(
      described(oneOf(RECOVERY_KINDS), {
        description:
          'failed: deliveries that failed. missed: events that arrived while the endpoint was inactive. Default: both. ' +
          'never_sent: every event that the endpoint is subscribed to now and that was never sent to it, older ones too.',
      }),
    ),
  )
  readonly status?: RecoveryKind | null;

  @Checked(absentOrNull(described(aBoolean, { description: 'Only counts. Also works for an inactive endpoint.' })))
  readonly dry_run?: boolean | null;
}

function timeOf(text: string | null | undefined): Date | null {
  const ms = text === null || text === undefined ? undefined : parseTimestamp(text);
  return ms === undefined ? null : new Date(ms);
}

/**
 * @throws GaplessError `validation_failed` unless there is exactly one of `since_seq` and `since`, and `until` is after
 *   it
 */
export function recoveryRange(body: RecoverDeliveriesDto): RecoveryRange {
  const sinceSeq = (body.since_seq ?? null) as Seq | null;
  const range = { sinceSeq, since: timeOf(body.since), until: timeOf(body.until), throughSeq: null };
  if ((range.sinceSeq === null) === (range.since === null)) {
    throwIfInvalid([{ pointer: '#/since', code: 'required', detail: 'give either since or since_seq' }]);
  }
  if (range.since !== null && range.until !== null && range.until <= range.since) {
    throwIfInvalid([{ pointer: '#/until', code: 'out_of_range', detail: 'must be later than since' }]);
  }
  return range;
}

/** Returns the kinds to recover; without a status, failed and missed ones. */
export function recoveryKinds(body: RecoverDeliveriesDto): readonly RecoveryKind[] {
  return body.status === null || body.status === undefined ? ['failed', 'missed'] : [body.status];
}
