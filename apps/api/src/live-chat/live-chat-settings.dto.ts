import { IsOptional } from 'class-validator';
import type { FieldProblem } from '#libs/domain';
import { Checked, type MemberCheck } from '../http/checked.decorator.js';
import { aBoolean, problem, required } from '../http/member-checks.js';

const LONGEST_WAIT_SECONDS = 7 * 86_400;
const MAX_EMAILS = 50;
/** RFC 5321, section 4.5.3.1.3: a path of 256 octets, angle brackets included. */
const MAX_EMAIL_LENGTH = 254;
/** Addresses that mail servers deliver in practice: no quoted local parts, no comments, no address literals. */
const EMAIL =
  /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/i;

const seconds: MemberCheck = (value) => {
  if (typeof value !== 'number') return [problem('wrong_type', 'must be an integer')];
  if (!Number.isInteger(value)) return [problem('wrong_type', 'must be an integer')];
  return value >= 1 && value <= LONGEST_WAIT_SECONDS
    ? []
    : [problem('out_of_range', `must be from 1 to ${LONGEST_WAIT_SECONDS}`)];
};

/** Pointers below a member. */
function below(member: string, problems: readonly FieldProblem[]): readonly FieldProblem[] {
  return problems.map((one) => ({ ...one, pointer: `/${member}${one.pointer}` }));
}

const someEmails: MemberCheck = (value) => {
  if (!Array.isArray(value)) return [problem('wrong_type', 'must be an array of mail addresses')];
  if (value.length > MAX_EMAILS) return [problem('out_of_range', `must not name more than ${MAX_EMAILS} addresses`)];
  const seen = new Set<string>();
  return value.flatMap((email: unknown, index) => {
    if (typeof email !== 'string') return [problem('wrong_type', 'must be a string', `/${index}`)];
    if (email.length > MAX_EMAIL_LENGTH || !EMAIL.test(email)) {
      return [problem('invalid_format', 'must be a mail address', `/${index}`)];
    }
    if (seen.has(email.toLowerCase())) return [problem('not_allowed', 'is there already', `/${index}`)];
    seen.add(email.toLowerCase());
    return [];
  });
};

const STAFF_ALERTS = ['enabled', 'emails'];

const staffAlerts: MemberCheck = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return [problem('wrong_type', 'must be an object')];
  }
  const { enabled, emails } = value as Record<string, unknown>;
  const unknown = Object.keys(value).filter((name) => !STAFF_ALERTS.includes(name));
  return [
    ...(unknown.length === 0 ? [] : [problem('unknown_member', `may hold ${STAFF_ALERTS.join(' and ')} alone`)]),
    ...below('enabled', required(aBoolean)(enabled)),
    ...below('emails', required(someEmails)(emails)),
  ];
};

/** The body of `PUT …/live-chat-settings` (contract 7.4). */
export class LiveChatSettingsDto {
  @Checked(required(seconds))
  readonly first_alert_seconds!: number;

  @Checked(required(seconds))
  readonly second_alert_seconds!: number;

  /** Unchanged if missing. */
  @IsOptional()
  @Checked(staffAlerts)
  readonly staff_alerts?: { readonly enabled: boolean; readonly emails: readonly string[] } | null;
}
