import { AUDIT_ACTIONS, type AuditEntry } from '#libs/postgres';
import { MAYBE_TEXT, TIMESTAMP, UUID } from '../http/shapes.js';
import { presenter, schemasOf, type ShownMembers } from '../http/shown-members.js';

const MEMBERS = {
  id: [UUID, ({ id }) => id],
  at: [TIMESTAMP, ({ at }) => at.toISOString()],
  action: [{ type: 'string', enum: AUDIT_ACTIONS }, ({ action }) => action],
  target: [{ type: 'string', description: 'The id of what was changed.' }, ({ target }) => target],
  actor: [
    {
      type: 'string',
      enum: ['api_key', 'dashboard', 'portal', 'operator'],
      description: 'operator: the command line, or Gapless itself.',
    },
    ({ actor }) => actor,
  ],
  key_id: [
    { ...MAYBE_TEXT, description: 'For the portal, the service key that made the session.' },
    ({ keyId }) => keyId,
  ],
  session: [{ ...MAYBE_TEXT, description: 'Distinguishes the sessions of a key.' }, ({ session }) => session],
  user_label: [{ ...MAYBE_TEXT, description: 'The user of the portal.' }, ({ userLabel }) => userLabel],
  address: [
    {
      ...MAYBE_TEXT,
      description: 'The address of the caller. It is null for the operator and for service keys.',
    },
    ({ address }) => address,
  ],
  request_id: [MAYBE_TEXT, ({ requestId }) => requestId],
  details: [
    { type: 'object', additionalProperties: true, description: 'What was changed. It has no secrets.' },
    ({ details }) => details,
  ],
} as const satisfies ShownMembers<AuditEntry>;

export const auditEntryJson = presenter<AuditEntry, typeof MEMBERS>(MEMBERS);

/** The JSON Schemas of its members. */
export const AUDIT_ENTRY_SCHEMA = schemasOf<AuditEntry>(MEMBERS);
