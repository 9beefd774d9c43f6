import { IsNull } from 'typeorm';
import type { ApiKeyId, OrgId } from '#libs/domain';
import { OPERATOR, type AuditActor } from './audit-actor.js';
import { appendAudit } from './audit-log.js';
import { apiKeyText, sha256OfSecret, type ApiKeyScope } from './api-key.js';
import { ApiKeyEntity } from '../entities/api-key.entity.js';
import type { Store } from '../connection/store.js';

export * from './api-key.js';

/** A key as its owners see it, without its secret. */
export interface ApiKeyRecord {
  readonly id: ApiKeyId;
  /** `null` for a service key. */
  readonly orgId: OrgId | null;
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

/** The API keys; looking one up precedes knowing its org, so this works over all orgs. */
export class ApiKeyRecords {
  constructor(
    private readonly store: Store,
    private readonly actor: AuditActor | null = OPERATOR,
  ) {}

  /** The same records, changed by somebody else than the operator. */
  by(actor: AuditActor): ApiKeyRecords {
    return new ApiKeyRecords(this.store, actor);
  }

  /** @returns the key as it is presented with requests; it cannot be had again */
  async create(key: NewApiKey): Promise<string> {
    const text = apiKeyText(key.id, key.secret);
    await this.store.transaction(async (runner) => {
      await runner.manager.insert(ApiKeyEntity, {
        id: key.id,
        orgId: key.orgId,
        scopes: [...key.scopes],
        secretSha256: sha256OfSecret(key.secret.toString('base64url')),
        createdAt: key.createdAt,
        expiresAt: key.expiresAt,
      });
      await appendAudit(runner, this.actor, {
        orgId: key.orgId,
        action: 'api_key.created',
        target: key.id,
        details: { scopes: key.scopes, expires_at: key.expiresAt?.toISOString() ?? null },
      });
    });
    return text;
  }

  /** Oldest first; `null` lists the service keys, nothing lists all. */
  async list(orgId?: OrgId | null): Promise<readonly ApiKeyRecord[]> {
    return this.#keys.find({
      select: {
        id: true,
        orgId: true,
        scopes: true,
        createdAt: true,
        expiresAt: true,
        revokedAt: true,
        lastUsedAt: true,
      },
      where: orgId === undefined ? {} : { orgId: orgId ?? IsNull() },
      order: { createdAt: 'ASC', id: 'ASC' },
    });
  }

  /** @returns whether there is such a key; one that was revoked before stays as it was */
  async revoke(id: ApiKeyId, at: Date, orgId?: OrgId): Promise<boolean> {
    const ofOrg = orgId === undefined ? { id } : { id, orgId };
    return this.store.transaction(async (runner) => {
      const key = await runner.manager.findOne(ApiKeyEntity, { select: { id: true, orgId: true }, where: ofOrg });
      if (key === null) return false;
      const revoked = await runner.manager.update(ApiKeyEntity, { id, revokedAt: IsNull() }, { revokedAt: at });
      if ((revoked.affected ?? 0) > 0) {
        await appendAudit(runner, this.actor, { orgId: key.orgId, action: 'api_key.revoked', target: id });
      }
      return true;
    });
  }

  /** The credentials of many keys in one query; ids without a key are missing. */
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

  /** Notes the last use of many keys at once. */
  async touch(uses: ReadonlyMap<ApiKeyId, Date>): Promise<void> {
    await this.store.query(
      `with touched as (
         update api_keys set last_used_at = greatest(last_used_at, used.at)
         from unnest($1::text[], $2::timestamptz[]) as used(id, at) where api_keys.id = used.id
       ) select 1`,
      [[...uses.keys()], [...uses.values()]],
    );
  }

  get #keys() {
    return this.store.dataSource.getRepository(ApiKeyEntity);
  }
}
