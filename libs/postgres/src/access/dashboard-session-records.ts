import type { ApiKeyId } from '#libs/domain';
import type { ApiKeyCredential } from './api-key-records.js';
import { ENDED_CREDENTIALS_CHANNEL } from './ended-credentials.js';
import type { Store } from '../connection/store.js';

/** The SHA-256 of a session's token in hexadecimal, which identifies the session. The token itself is not stored. */
export type SessionName = string;

export interface NewDashboardSession {
  readonly name: SessionName;
  readonly apiKeyId: ApiKeyId;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** A stored session with the current state of its key. */
export interface StoredDashboardSession {
  readonly expiresAt: Date;
  readonly key: ApiKeyCredential;
}

/** The most expired sessions that one sign-in deletes. */
const PRUNE_ROWS = 1_000;

/** The dashboard sessions of all orgs, because a session is looked up before its org is known. */
export class DashboardSessionRecords {
  constructor(private readonly store: Store) {}

  /** Opens a session, and deletes expired ones so that they do not pile up. */
  async open(session: NewDashboardSession): Promise<void> {
    await this.store.query(
      `with expired as (
         delete from dashboard_sessions where token_sha256 in (
           select token_sha256 from dashboard_sessions where expires_at <= least($3, now()) limit $5
           for update skip locked
         )
       ), opened as (
         insert into dashboard_sessions (token_sha256, api_key_id, created_at, expires_at)
         values (decode($1, 'hex'), $2, $3, $4)
       ) select 1`,
      [session.name, session.apiKeyId, session.createdAt, session.expiresAt, PRUNE_ROWS],
    );
  }

  /**
   * Reads many sessions in one query; names without a session are missing. The caller checks whether a session is
   * valid.
   */
  async find(names: readonly SessionName[]): Promise<ReadonlyMap<SessionName, StoredDashboardSession>> {
    const rows = await this.store.prepared<{
      name: SessionName;
      session_expires_at: Date;
      id: ApiKeyId;
      org_id: ApiKeyCredential['orgId'];
      scopes: string[];
      secret_sha256: Buffer;
      expires_at: Date | null;
      revoked_at: Date | null;
    }>(
      'dashboard_sessions',
      `select encode(s.token_sha256, 'hex') as name, s.expires_at as session_expires_at,
         k.id, k.org_id, k.scopes, k.secret_sha256, k.expires_at, k.revoked_at
       from dashboard_sessions s join api_keys k on k.id = s.api_key_id
       where s.token_sha256 = any($1)`,
      [names.map((name) => Buffer.from(name, 'hex'))],
    );
    return new Map(
      rows.map((row) => [
        row.name,
        {
          expiresAt: row.session_expires_at,
          key: {
            id: row.id,
            orgId: row.org_id,
            scopes: row.scopes,
            secretSha256: row.secret_sha256,
            expiresAt: row.expires_at,
            revokedAt: row.revoked_at,
          },
        },
      ]),
    );
  }

  /** Ends a session; one that has ended already stays so. */
  async close(name: SessionName): Promise<void> {
    await this.store.query(
      `with closed as (delete from dashboard_sessions where token_sha256 = decode($1, 'hex') returning api_key_id)
       select pg_notify('${ENDED_CREDENTIALS_CHANNEL}', k.org_id::text)
       from closed join api_keys k on k.id = closed.api_key_id where k.org_id is not null`,
      [name],
    );
  }
}
