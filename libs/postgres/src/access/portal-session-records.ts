import type { ApiKeyId, OrgId, PortalSessionId } from '#libs/domain';
import type { ApiKeyCredential, ApiKeyScope } from './api-key-records.js';
import { OPERATOR, type AuditActor } from './audit-actor.js';
import { appendAudit } from './audit-log.js';
import { ENDED_CREDENTIALS_CHANNEL } from './ended-credentials.js';
import type { Store } from '../connection/store.js';

export interface NewPortalSession {
  readonly id: PortalSessionId;
  readonly orgId: OrgId;
  /** The service key that makes the session. */
  readonly apiKeyId: ApiKeyId;
  /** The SHA-256 of the token in the link. */
  readonly linkSha256: Buffer;
  readonly scopes: readonly ApiKeyScope[];
  readonly userLabel: string | null;
  readonly returnUrl: string | null;
  readonly createdAt: Date;
  readonly linkExpiresAt: Date;
  readonly expiresAt: Date;
}

/** A session that was opened with its link, and the current state of the service key. */
export interface StoredPortalSession {
  readonly id: PortalSessionId;
  readonly orgId: OrgId;
  readonly scopes: readonly string[];
  readonly userLabel: string | null;
  readonly returnUrl: string | null;
  readonly expiresAt: Date;
  readonly key: Pick<ApiKeyCredential, 'id' | 'expiresAt' | 'revokedAt'>;
}

/** The most rows that one creation deletes. */
const PRUNE_ROWS = 1_000;

interface SessionRow {
  readonly token: string;
  readonly id: PortalSessionId;
  readonly org_id: OrgId;
  readonly scopes: string[];
  readonly user_label: string | null;
  readonly return_url: string | null;
  readonly expires_at: Date;
  readonly key_id: ApiKeyId;
  readonly key_expires_at: Date | null;
  readonly revoked_at: Date | null;
}

const COLUMNS = `encode(s.token_sha256, 'hex') as token, s.id, s.org_id, s.scopes, s.user_label, s.return_url, s.expires_at,
  k.id as key_id, k.expires_at as key_expires_at, k.revoked_at`;

function toStored(row: SessionRow): StoredPortalSession {
  return {
    id: row.id,
    orgId: row.org_id,
    scopes: row.scopes,
    userLabel: row.user_label,
    returnUrl: row.return_url,
    expiresAt: row.expires_at,
    key: { id: row.key_id, expiresAt: row.key_expires_at, revokedAt: row.revoked_at },
  };
}

/** The portal sessions of all orgs, because a session is looked up before its org is known. */
export class PortalSessionRecords {
  constructor(
    private readonly store: Store,
    private readonly actor: AuditActor | null = OPERATOR,
  ) {}

  /** Returns the same records, with changes logged in the name of `actor` instead of the operator. */
  by(actor: AuditActor): PortalSessionRecords {
    return new PortalSessionRecords(this.store, actor);
  }

  /**
   * Stores a session that its link will open, and deletes ended ones so that they do not pile up. A session that is stored
   * already stays unchanged: the request was repeated.
   * @returns when the stored session ends
   */
  async create(session: NewPortalSession): Promise<Pick<NewPortalSession, 'linkExpiresAt' | 'expiresAt'>> {
    const { linkExpiresAt, expiresAt } = session;
    return this.store.transaction(async (runner) => {
      await runner.query(
        `with ended as (
           delete from portal_sessions where id in (
             select id from (
               select id from portal_sessions where expires_at <= least($1, now()) order by expires_at limit $2
               for update skip locked
             ) past
             union all
             select id from (
               select id from portal_sessions where link_expires_at <= least($1, now()) and token_sha256 is null
               order by link_expires_at limit $2 for update skip locked
             ) unused
           )
         ) select 1`,
        [session.createdAt, PRUNE_ROWS],
      );
      const stored = (await runner.query(
        `insert into portal_sessions
           (id, org_id, api_key_id, link_sha256, scopes, user_label, return_url, created_at, link_expires_at, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (id) do nothing returning 1`,
        [
          session.id,
          session.orgId,
          session.apiKeyId,
          session.linkSha256,
          session.scopes,
          session.userLabel,
          session.returnUrl,
          session.createdAt,
          linkExpiresAt,
          expiresAt,
        ],
      )) as unknown[];
      if (stored.length === 0) {
        const [earlier] = (await runner.query(
          'select link_expires_at as "linkExpiresAt", expires_at as "expiresAt" from portal_sessions where id = $1',
          [session.id],
        )) as Pick<NewPortalSession, 'linkExpiresAt' | 'expiresAt'>[];
        return earlier ?? { linkExpiresAt, expiresAt };
      }
      await appendAudit(runner, this.actor, {
        orgId: session.orgId,
        action: 'portal_session.created',
        target: session.id,
        details: {
          scopes: session.scopes,
          expires_at: expiresAt.toISOString(),
          ...(session.userLabel === null ? {} : { user_label: session.userLabel }),
        },
      });
      return { linkExpiresAt, expiresAt };
    });
  }

  /**
   * Looks up many links in one query, by the hexadecimal SHA-256 of their tokens. Unknown and used ones are missing.
   * @returns when each link expires
   */
  async unusedLinks(links: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    const rows = await this.store.prepared<{ readonly link: string; readonly link_expires_at: Date }>(
      'portal_links',
      `select encode(link_sha256, 'hex') as link, link_expires_at from portal_sessions
       where link_sha256 = any($1) and token_sha256 is null`,
      [links.map((link) => Buffer.from(link, 'hex'))],
    );
    return new Map(rows.map((row) => [row.link, row.link_expires_at]));
  }

  /**
   * Opens the session of a link. A link opens its session once.
   * @param tokenSha256 the SHA-256 of the session's new token
   * @param by who opens it, for the audit log
   * @returns `undefined` for a link that is unknown, used or expired, or whose session has ended
   */
  async open(
    linkSha256: Buffer,
    tokenSha256: Buffer,
    at: Date,
    by: { readonly address: string; readonly requestId: string },
  ): Promise<StoredPortalSession | undefined> {
    return this.store.transaction(async (runner) => {
      const [opened] = (await runner.query(
        `update portal_sessions s set token_sha256 = $2 from api_keys k
         where s.link_sha256 = $1 and s.token_sha256 is null and s.link_expires_at > $3 and s.expires_at > $3
           and k.id = s.api_key_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3)
         returning ${COLUMNS}`,
        [linkSha256, tokenSha256, at],
      )) as [SessionRow[], number];
      const [row] = opened;
      if (row === undefined) return undefined;
      const actor: AuditActor = {
        kind: 'portal',
        keyId: row.key_id,
        session: row.id,
        userLabel: row.user_label,
        ...by,
      };
      await appendAudit(runner, actor, { orgId: row.org_id, action: 'portal_session.opened', target: row.id });
      return toStored(row);
    });
  }

  /** Reads many sessions in one query, by the hexadecimal SHA-256 of their tokens. The caller checks whether they are valid. */
  async find(tokens: readonly string[]): Promise<ReadonlyMap<string, StoredPortalSession>> {
    const rows = await this.store.prepared<SessionRow>(
      'portal_sessions',
      `select ${COLUMNS} from portal_sessions s join api_keys k on k.id = s.api_key_id where s.token_sha256 = any($1)`,
      [tokens.map((token) => Buffer.from(token, 'hex'))],
    );
    return new Map(rows.map((row) => [row.token, toStored(row)]));
  }

  /** Ends a session; one that has ended already stays so. */
  async close(id: PortalSessionId): Promise<void> {
    await this.store.query(
      `with closed as (delete from portal_sessions where id = $1 returning org_id)
       select pg_notify('${ENDED_CREDENTIALS_CHANNEL}', org_id::text) from closed`,
      [id],
    );
  }
}
