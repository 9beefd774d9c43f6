import type { QueryRunner } from 'typeorm';
import type { OrgId } from '#libs/domain';

/** Says that credentials of an org have ended, or with an empty payload that any may have. */
export const ENDED_CREDENTIALS_CHANNEL = 'gapless_ended_credentials';

/**
 * Lets every process end the streams of credentials that end with this transaction. Other requests need no
 * notification: each of them is checked.
 * @param orgId `null` for a service key, on which portal sessions of any org depend
 */
export async function notifyEndedCredentials(runner: QueryRunner, orgId: OrgId | null): Promise<void> {
  await runner.query('select pg_notify($1, $2)', [ENDED_CREDENTIALS_CHANNEL, orgId ?? '']);
}
