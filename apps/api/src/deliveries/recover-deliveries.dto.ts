import { IsOptional } from 'class-validator';
import type { FieldProblem, Seq } from '#libs/domain';
import { parseTimestamp } from '#libs/event-validation';
import type { RecoveryKind, RecoveryRange } from '#libs/postgres';
import { Checked, type MemberCheck } from '../http/checked.decorator.js';
import { aBoolean } from '../http/member-checks.js';
import { throwIfInvalid } from '../http/validation-error.js';

function problem(code: string, detail: string): readonly FieldProblem[] {
  return [{ pointer: '', code, detail }];
}

const aSeq: MemberCheck = (value) => {
  if (typeof value !== 'number') return problem('wrong_type', 'must be a number');
  return Number.isSafeInteger(value) && value >= 0
    ? []
    : problem('out_of_range', 'must be an integer from 0 to 2^53-1');
};

const aTime: MemberCheck = (value) => {
  if (typeof value !== 'string') return problem('wrong_type', 'must be a string');
  return parseTimestamp(value) === undefined ? problem('invalid_format', 'must be an RFC 3339 time') : [];
};

const aKind: MemberCheck = (value) => {
  if (typeof value !== 'string') return problem('wrong_type', 'must be a string');
  return value === 'failed' || value === 'missed' ? [] : problem('not_allowed', 'must be failed or missed');
};

/** The body of `POST …/recover` (contract 4.4). */
export class RecoverDeliveriesDto {
  @IsOptional()
  @Checked(aSeq)
  readonly since_seq?: number | null;

  @IsOptional()
  @Checked(aTime)
  readonly since?: string | null;

  @IsOptional()
  @Checked(aTime)
  readonly until?: string | null;

  @IsOptional()
  @Checked(aKind)
  readonly status?: RecoveryKind | null;

  @IsOptional()
  @Checked(aBoolean)
  readonly dry_run?: boolean | null;
}

function timeOf(text: string | null | undefined): Date | null {
  const ms = text === null || text === undefined ? undefined : parseTimestamp(text);
  return ms === undefined ? null : new Date(ms);
}

/** @throws GaplessError `validation_failed` unless there is exactly one beginning, and the end is after it */
export function recoveryRange(body: RecoverDeliveriesDto): RecoveryRange {
  const sinceSeq = (body.since_seq ?? null) as Seq | null;
  const range = { sinceSeq, since: timeOf(body.since), until: timeOf(body.until) };
  if ((range.sinceSeq === null) === (range.since === null)) {
    throwIfInvalid([{ pointer: '#/since', code: 'required', detail: 'give either since or since_seq' }]);
  }
  if (range.since !== null && range.until !== null && range.until <= range.since) {
    throwIfInvalid([{ pointer: '#/until', code: 'out_of_range', detail: 'must be later than since' }]);
  }
  return range;
}

/** Without a status, both what failed and what was missed. */
export function recoveryKinds(body: RecoverDeliveriesDto): readonly RecoveryKind[] {
  return body.status === null || body.status === undefined ? ['failed', 'missed'] : [body.status];
}
