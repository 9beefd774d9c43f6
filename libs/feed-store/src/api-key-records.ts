import { IsNull } from 'typeorm';
import type { ApiKeyId, OrgId } from '#libs/domain';
import { ApiKeyEntity } from './entities/api-key.entity.js';
import type { Store } from './store.js';

export interface ApiKeyRecord {
  readonly id: ApiKeyId;
  /** `null` for a service key. */
  readonly orgId: OrgId | null;
  readonly scopes: readonly string[];
  readonly secretSha256: Buffer;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

/** The API keys; looking one up precedes knowing its org, so this works over all orgs. */
export class ApiKeyRecords {
  constructor(private readonly store: Store) {}

  async create(key: Omit<ApiKeyRecord, 'revokedAt' | 'lastUsedAt'>): Promise<void> {
    await this.store.dataSource.getRepository(ApiKeyEntity).insert({ ...key, scopes: [...key.scopes] });
  }

  async find(id: ApiKeyId): Promise<ApiKeyRecord | undefined> {
    return (await this.store.dataSource.getRepository(ApiKeyEntity).findOneBy({ id })) ?? undefined;
  }

  /** Oldest first; `null` lists the service keys, nothing lists all. */
  async list(orgId?: OrgId | null): Promise<readonly ApiKeyRecord[]> {
    return this.store.dataSource.getRepository(ApiKeyEntity).find({
      where: orgId === undefined ? {} : { orgId: orgId ?? IsNull() },
      order: { createdAt: 'ASC', id: 'ASC' },
    });
  }

  /** @returns whether there is such a key; one that was revoked before stays as it was */
  async revoke(id: ApiKeyId, at: Date, orgId?: OrgId): Promise<boolean> {
    const keys = this.store.dataSource.getRepository(ApiKeyEntity);
    const ofOrg = orgId === undefined ? { id } : { id, orgId };
    await keys.update({ ...ofOrg, revokedAt: IsNull() }, { revokedAt: at });
    return keys.existsBy(ofOrg);
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
}
