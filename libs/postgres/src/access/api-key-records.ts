import { setTimeout as delay } from 'node:timers/promises';
import { IsNull, MoreThan, type QueryRunner } from 'typeorm';
import type { ApiKeyId, OrgId } from '#libs/domain';
import { OPERATOR, type AuditActor } from './audit-actor.js';
import { appendAudit } from './audit-log.js';
import { notifyEndedCredentials } from './ended-credentials.js';
import { refuseEnded } from './refuse-ended.js';
import { apiKeyText, sha256OfSecret, type ApiKeyScope } from './api-key.js';
import { ApiKeyEntity } from '../entities/api-key.entity.js';
import { lockFor } from '../connection/advisory-locks.js';
import type { Store } from '../connection/store.js';

export * from './api-key.js';

/** A key as its owners see it, without its secret. */
export interface ApiKeyRecord {
  readonly id: ApiKeyId;
  /** `null` for a service key. */
  readonly orgId: OrgId | null;
  readonly name: string | null;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

export interface NewApiKey {
  readonly id: ApiKeyId;
  /** `null` for a service key. */
  readonly orgId: OrgId | null;
  /** What the key is for, as people call it; default: no name. */
  readonly name?: string | null;
  readonly scopes: readonly ApiKeyScope[];
  /** `API_KEY_SECRET_BYTES` random bytes. */
  readonly secret: Buffer;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

/** The data to check a presented key. */
export interface ApiKeyCredential {
  readonly id: ApiKeyId;
  /** `null` for a service key. */
  readonly orgId: OrgId | null;
  readonly scopes: readonly string[];
  readonly secretSha256: Buffer;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/**
 * How long a process may go on using credentials that it has read, milliseconds of a monotonic clock from before the
 * query. Revoking takes a little longer than this, so no process uses the key once the revocation has been confirmed.
 */
export const CREDENTIALS_HOLD_MS = 250;
/** More than the clocks of two processes differ over the hold. */
const HOLD_MARGIN_MS = 50;
/** No process uses credentials any more that ended so long ago. */
export const CREDENTIALS_FORGOTTEN_MS = CREDENTIALS_HOLD_MS + HOLD_MARGIN_MS;

/** Resolves once every process has forgotten the credentials that it read before this call. */
export async function untilKeysAreForgotten(): Promise<void> {
  await delay(CREDENTIALS_FORGOTTEN_MS);
}

/** Counts the org's valid keys. It locks, so that another request at the limit waits. */
async function countValid(runner: QueryRunner, { orgId, createdAt }: NewApiKey): Promise<number> {
  await lockFor(runner, 'apiKeys', orgId);
  const own = { orgId: orgId ?? IsNull(), revokedAt: IsNull() };
  const unexpired = [
    { ...own, expiresAt: IsNull() },
    { ...own, expiresAt: MoreThan(createdAt) },
  ];
  return runner.manager.count(ApiKeyEntity, { where: unexpired });
}

/** The columns without the secret. */
const SHOWN = 'id, org_id, name, scopes, created_at, expires_at, revoked_at, last_used_at';
const COLUMNS = `id, org_id as "orgId", name, scopes, created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt", last_used_at as "lastUsedAt"`;

/** The API keys of all orgs, because a key is looked up before its org is known. */
export class ApiKeyRecords {
  constructor(
    private readonly store: Store,
    private readonly actor: AuditActor | null = OPERATOR,
  ) {}

  /** Returns the same records, with changes logged in the name of `actor` instead of the operator. */
  by(actor: AuditActor): ApiKeyRecords {
    return new ApiKeyRecords(this.store, actor);
  }

  /** @returns the key in the form that requests present; it cannot be read again */
  create(key: NewApiKey): Promise<string>;
  /**
   * @param limit how many valid keys the org may have; at the limit, no key is created and `null` is returned
   * @throws GaplessError `invalid_api_key` if the actor's own key or session has ended meanwhile; `unavailable` if others
   *   of the org do not end in time
   */
  create(key: NewApiKey, limit: number): Promise<string | null>;
  async create(key: NewApiKey, limit = Infinity): Promise<string | null> {
    const text = apiKeyText(key.id, key.secret);
    return this.#transaction(key.orgId, async (runner) => {
      if (limit < Infinity && (await countValid(runner, key)) >= limit) return null;
      // After the lock of `countValid`, which the deletion of an org takes, too.
      await refuseEnded(runner, this.actor);
      await runner.manager.insert(ApiKeyEntity, {
        id: key.id,
        orgId: key.orgId,
        name: key.name ?? null,
        scopes: [...key.scopes],
        secretSha256: sha256OfSecret(key.secret.toString('base64url')),
        createdAt: key.createdAt,
        expiresAt: key.expiresAt,
      });
      await appendAudit(runner, this.actor, {
        orgId: key.orgId,
        action: 'api_key.created',
        target: key.id,
        details: {
          ...(key.name === undefined || key.name === null ? {} : { name: key.name }),
          scopes: key.scopes,
          expires_at: key.expiresAt?.toISOString() ?? null,
        },
      });
      return text;
    });
  }

  /** Returns the key; `undefined` if there is none. */
  async find(id: ApiKeyId): Promise<ApiKeyRecord | undefined> {
    const [found] = await this.store.query<ApiKeyRecord>(`select ${COLUMNS} from api_keys where id = $1`, [id]);
    return found;
  }

  /**
   * Lists keys, oldest first; `null` lists the service keys, no argument lists all.
   * @param limit the largest number of keys: valid ones come before others, and new ones before old ones
   */
  async list(orgId?: OrgId | null, limit: number | null = null): Promise<readonly ApiKeyRecord[]> {
    const condition = orgId === undefined ? 'true' : orgId === null ? 'org_id is null' : 'org_id = $2';
    // An org may have many keys that ended, and old ones that are valid. An index finds the rows of each branch.
    return this.store.query<ApiKeyRecord>(
      `select ${COLUMNS} from (
         select * from (
           select ${SHOWN}, true as is_valid from api_keys
           where ${condition} and revoked_at is null and expires_at is null
           union all
           select ${SHOWN}, true from api_keys where ${condition} and revoked_at is null and expires_at > now()
           union all (
             select ${SHOWN}, false from api_keys where ${condition} and (revoked_at is not null or expires_at <= now())
             order by created_at desc, id desc limit $1
           )
         ) either order by is_valid desc, created_at desc, id desc limit $1
       ) listed order by created_at, id`,
      typeof orgId === 'string' ? [limit, orgId] : [limit],
    );
  }

  /**
   * Returns once no process uses the key any more. A key that is revoked already stays unchanged.
   * @returns whether the key exists
   * @throws GaplessError `unavailable` if others of the org do not end in time
   */
  async revoke(id: ApiKeyId, at: Date, orgId?: OrgId): Promise<boolean> {
    const exists = await this.#revoke(id, at, orgId);
    if (exists) await untilKeysAreForgotten();
    return exists;
  }

  async #revoke(id: ApiKeyId, at: Date, orgId: OrgId | undefined): Promise<boolean> {
    const ofOrg = orgId === undefined ? { id } : { id, orgId };
    return this.#transaction(orgId ?? null, async (runner) => {
      const key = await runner.manager.findOne(ApiKeyEntity, { select: { id: true, orgId: true }, where: ofOrg });
      if (key === null) return false;
      const revoked = await runner.manager.update(ApiKeyEntity, { id, revokedAt: IsNull() }, { revokedAt: at });
      if ((revoked.affected ?? 0) > 0) {
        await appendAudit(runner, this.actor, { orgId: key.orgId, action: 'api_key.revoked', target: id });
        await notifyEndedCredentials(runner, key.orgId);
      }
      return true;
    });
  }

  /** For changes that wait for the deletion of their org, which may take long. */
  async #transaction<T>(orgId: OrgId | null, act: (runner: QueryRunner) => Promise<T>): Promise<T> {
    return orgId === null ? this.store.transaction(act) : this.store.transactionOf(orgId, act);
  }

  /** Returns the credentials of many keys in one query; ids without a key are missing. */
  async credentials(ids: readonly ApiKeyId[]): Promise<ReadonlyMap<ApiKeyId, ApiKeyCredential>> {
    const rows = await this.store.prepared<{
      id: ApiKeyId;
      org_id: OrgId | null;
      scopes: string[];
      secret_sha256: Buffer;
      expires_at: Date | null;
      revoked_at: Date | null;
    }>(
      'api_key_credentials',
      'select id, org_id, scopes, secret_sha256, expires_at, revoked_at from api_keys where id = any($1)',
      [ids],
    );
    return new Map(
      rows.map((row) => [
        row.id,
        {
          id: row.id,
          orgId: row.org_id,
          scopes: row.scopes,
          secretSha256: row.secret_sha256,
          expiresAt: row.expires_at,
          revokedAt: row.revoked_at,
        },
      ]),
    );
  }

  /** Deletes at most `limit` keys that ended before that time, with their sessions. @returns the number of deleted keys */
  async prune(before: Date, limit: number): Promise<number> {
    const [row] = await this.store.query<{ count: number }>(
      `with pruned as (
         delete from api_keys where id in (
           select id from api_keys
           where (revoked_at is not null or expires_at is not null) and least(revoked_at, expires_at) < $1
           order by least(revoked_at, expires_at) limit $2
         ) returning 1
       ) select count(*)::int as count from pruned`,
      [before, limit],
    );
    return row?.count ?? 0;
  }

  /**
   * Stores the last use of many keys at once. It waits for none of them, such as those of an org that is being deleted.
   * @returns the keys that another transaction holds, whose use is not stored
   */
  async touch(uses: ReadonlyMap<ApiKeyId, Date>): Promise<readonly ApiKeyId[]> {
    const held = await this.store.query<{ id: ApiKeyId }>(
      `with free as (
         select id from api_keys where id = any($1::text[]) order by id for no key update skip locked
       ), touched as (
         update api_keys set last_used_at = greatest(last_used_at, used.at)
         from free join unnest($1::text[], $2::timestamptz[]) as used(id, at) using (id) where api_keys.id = free.id
       ) select id from api_keys where id = any($1::text[]) except select id from free`,
      [[...uses.keys()], [...uses.values()]],
    );
    return held.map(({ id }) => id);
  }
}
