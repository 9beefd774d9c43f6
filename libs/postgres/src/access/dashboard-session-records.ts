import type { ApiKeyId } from '#libs/domain';
import type { ApiKeyCredential } from './api-key-records.js';
import type { Store } from '../connection/store.js';

/** The SHA-256 of a session's token in hexadecimal: what names the session here. The token itself is not stored. */
export type SessionName = string;

export interface NewDashboardSession {
  readonly name: SessionName;
  readonly apiKeyId: ApiKeyId;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** A session as it is stored, with the key that it stands on as that is at this moment. */
export interface StoredDashboardSession {
  readonly expiresAt: Date;
  readonly key: ApiKeyCredential;
}

/** Expired sessions that one sign-in clears away. */
const PRUNE_ROWS = 1_000;

/** The sessions of the dashboard. The lookup of a session finds its org, so this works over all orgs. */
export class DashboardSessionRecords {
  constructor(private readonly store: Store) {}

  /** Also clears away sessions that have expired: there are at most as many as were opened. */
  async open(session: NewDashboardSession): Promise<void> {
    await this.store.query(
      `with expired as (
         delete from dashboard_sessions where token_sha256 in (
           select token_sha256 from dashboard_sessions where expires_at <= $3 limit $5
         )
       ), opened as (
         insert into dashboard_sessions (token_sha256, api_key_id, created_at, expires_at)
         values (decode($1, 'hex'), $2, $3, $4)
       ) select 1`,
      [session.name, session.apiKeyId, session.createdAt, session.expiresAt, PRUNE_ROWS],
    );
  }

  /** Many sessions in one query; names without a session are missing. Whether one is in force is for the caller to say. */
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

  /** Ends a session; one that is over already stays so. */
  async close(name: SessionName): Promise<void> {
    await this.store.query(
      `with closed as (delete from dashboard_sessions where token_sha256 = decode($1, 'hex')) select 1`,
      [name],
    );
  }
}
