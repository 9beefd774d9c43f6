import { Checked, type MemberRule } from '../http/checked.decorator.js';
import {
  aBoolean,
  absentOrNull,
  anArrayOf,
  anIntegerOf,
  anObjectOf,
  described,
  problem,
  required,
} from '../http/member-rules.js';

const LONGEST_WAIT_SECONDS = 7 * 86_400;
const MAX_EMAILS = 50;
/** RFC 5321, section 4.5.3.1.3: a path has at most 256 octets, including angle brackets. */
const MAX_EMAIL_LENGTH = 254;
/** Addresses that mail servers deliver in practice: no quoted local parts, no comments, no address literals. */
const EMAIL =
  /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/i;

const aWait = anIntegerOf(1, LONGEST_WAIT_SECONDS);

const anEmail: MemberRule = {
  schema: { type: 'string', format: 'email', maxLength: MAX_EMAIL_LENGTH },
  check: (email) => {
    if (typeof email !== 'string') return [problem('wrong_type', 'must be a string')];
    return email.length > MAX_EMAIL_LENGTH || !EMAIL.test(email)
      ? [problem('invalid_format', 'must be a mail address')]
      : [];
  },
};

const emails = anArrayOf(anEmail, { maxItems: MAX_EMAILS, uniqueItems: true, of: 'mail addresses' });

/** A list of addresses without repeats. Spellings that differ only in case are the same address. */
const someEmails: MemberRule = {
  schema: emails.schema,
  check: (value) => {
    const found = emails.check(value);
    if (found.length > 0 || !Array.isArray(value)) return found;
    return emails.check(value.map((email: string) => email.toLowerCase()));
  },
};

export const staffAlerts = anObjectOf({
  enabled: required(
    described(aBoolean, { description: 'false turns off staff alerts. The events are still emitted.' }),
  ),
  emails: required(
    described(someEmails, {
      description: 'The addresses that get each staff alert by mail, if SMTP is configured.',
    }),
  ),
});

/** The body of `PUT …/live-chat-settings` (contract 7.4). */
export class LiveChatSettingsDto {
  @Checked(required(described(aWait, { description: 'The wait after which Gapless raises conversation.queued.' })))
  readonly first_alert_seconds!: number;

  @Checked(
    required(
      described(aWait, {
        description: 'The wait after which Gapless raises conversation.queued.escalated. Longer than the first.',
      }),
    ),
  )
  readonly second_alert_seconds!: number;

  @Checked(absentOrNull(described(staffAlerts, { description: 'Unchanged if missing.' })))
  readonly staff_alerts?: { readonly enabled: boolean; readonly emails: readonly string[] } | null;
}
