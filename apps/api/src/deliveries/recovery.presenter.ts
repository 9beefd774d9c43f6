import { RECOVERY_KINDS, RECOVERY_STATUSES, type RecoveryRecord } from '#libs/postgres';
import { COUNT, MAYBE_INTEGER, MAYBE_TEXT, MAYBE_TIMESTAMP, TIMESTAMP } from '../http/shapes.js';
import { presenter, schemasOf, type ShownMembers } from '../http/shown-members.js';

const MEMBERS = {
  id: [{ type: 'string', pattern: '^rec_[0-9A-HJKMNP-TV-Z]{26}$' }, ({ id }) => id],
  webhook_id: [{ type: 'string' }, ({ endpointId }) => endpointId],
  status: [
    {
      type: 'string',
      enum: RECOVERY_STATUSES,
      description: 'done: everything is scheduled. failed: see error. stopped: by DELETE.',
    },
    ({ status }) => status,
  ],
  kinds: [{ type: 'array', items: { type: 'string', enum: RECOVERY_KINDS } }, ({ kinds }) => kinds],
  since_seq: [MAYBE_INTEGER, ({ range }) => range.sinceSeq],
  since: [MAYBE_TIMESTAMP, ({ range }) => range.since?.toISOString() ?? null],
  until: [MAYBE_TIMESTAMP, ({ range }) => range.until?.toISOString() ?? null],
  looked_through_seq: [
    { ...COUNT, description: 'Every event up to this seq was looked at.' },
    ({ afterSeq }) => afterSeq,
  ],
  through_seq: [
    { ...COUNT, description: 'The newest event when the recovery began. Later ones are no part of it.' },
    ({ throughSeq }) => throughSeq,
  ],
  matched: [COUNT, ({ matched }) => matched],
  scheduled: [COUNT, ({ scheduled }) => scheduled],
  error: [{ ...MAYBE_TEXT, description: 'endpoint_inactive or unavailable, if it failed.' }, ({ error }) => error],
  created_at: [TIMESTAMP, ({ createdAt }) => createdAt.toISOString()],
  ended_at: [MAYBE_TIMESTAMP, ({ endedAt }) => endedAt?.toISOString() ?? null],
} as const satisfies ShownMembers<RecoveryRecord>;

/** A recovery as the api shows it (contract 4.4). */
export const recoveryJson = presenter<RecoveryRecord, typeof MEMBERS>(MEMBERS);

/** The JSON Schemas of its members. */
export const RECOVERY_SCHEMA = schemasOf<RecoveryRecord>(MEMBERS);
