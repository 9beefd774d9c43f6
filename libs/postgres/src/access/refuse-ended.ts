import type { QueryRunner } from 'typeorm';
import { GaplessError } from '#libs/domain';
import { OPERATOR, type AuditActor } from './audit-actor.js';

/** Whether the row of a key or a session has not expired by now, which may be long after the transaction began. */
const UNEXPIRED = '(expires_at is null or expires_at > clock_timestamp())';

/**
 * Refuses an actor whose key or portal session has ended since its request was let in, such as while it waited for its
 * turn. From here on, revoking the key waits for this transaction.
 * @throws GaplessError `invalid_api_key`
 */
export async function refuseEnded(runner: QueryRunner, actor: AuditActor | null): Promise<void> {
  if (actor === OPERATOR) return;
  const { kind, keyId, session } = actor;
  const keys = (await runner.query(
    `select from api_keys where id = $1 and revoked_at is null and ${UNEXPIRED}
       ${kind === 'portal' ? `and exists (select from portal_sessions where id = $2 and ${UNEXPIRED})` : ''}
     for share of api_keys`,
    kind === 'portal' ? [keyId, session] : [keyId],
  )) as unknown[];
  if (keys.length === 0) throw ended();
}

/**
 * As `refuseEnded`, in a transaction of the actor's org, which sees no service key. Closing a portal session and deleting
 * the org remove the session.
 * @throws GaplessError `invalid_api_key`
 */
export async function refuseEndedOfOrg(runner: QueryRunner, actor: AuditActor | null): Promise<void> {
  if (actor?.kind !== 'portal') {
    await refuseEnded(runner, actor);
    return;
  }
  const sessions = (await runner.query('select id from portal_sessions where id = $1', [actor.session])) as unknown[];
  if (sessions.length === 0) throw ended();
}

function ended(): GaplessError {
  return new GaplessError('invalid_api_key', 'The API key or the session has ended meanwhile.');
}
