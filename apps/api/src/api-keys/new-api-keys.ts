import { Inject, Injectable } from '@nestjs/common';
import { derivedApiKeyId, GaplessError, type Clock, type OrgId } from '#libs/domain';
import { parseTimestamp } from '#libs/event-validation';
import { ApiKeyRecords, apiKeyText, type AuditActor } from '#libs/postgres';
import { CLOCK, CONFIG } from '#libs/platform';
import { Identifiers, type Config } from '#libs/runtime';
import { SeededSecrets } from '../idempotency/seeded-secrets.js';
import type { CreateApiKeyDto } from './api-key.dto.js';
import { apiKeyJson } from './api-key.presenter.js';
import { decideGrant, type Granting } from './grant.js';

/** Creates keys of organizations. */
@Injectable()
export class NewApiKeys {
  constructor(
    private readonly keys: ApiKeyRecords,
    private readonly identifiers: Identifiers,
    private readonly secrets: SeededSecrets,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Creates a key. The answer is the only place that shows it.
   * @param by the key whose scopes and expiry limit the new one; `null` for no such limit
   * @param seed that of the request
   * @throws GaplessError `api_key_limit_reached`, and those of `decideGrant`
   */
  async create(orgId: OrgId, body: CreateApiKeyDto, actor: AuditActor, by: Granting | null, seed: string | null) {
    const nowMs = this.clock.now();
    const expiresAtMs = parseTimestamp(body.expires_at ?? '');
    const wanted = { scopes: body.scopes, expiresAt: expiresAtMs === undefined ? null : new Date(expiresAtMs) };
    const grant = decideGrant(by ?? { scopes: body.scopes, expiresAt: null }, wanted, nowMs);
    const id =
      seed === null ? this.identifiers.apiKeyId() : derivedApiKeyId(this.secrets.seedOf(seed, 'id of an API key'));
    const secret = this.secrets.bytes(seed, 'API key');
    // An earlier attempt at the request may have created it.
    const earlier = seed === null ? undefined : await this.keys.find(id);
    if (earlier !== undefined) return { ...apiKeyJson(earlier), key: apiKeyText(id, secret) };
    const record = { id, orgId, name: body.name ?? null, ...grant, createdAt: new Date(nowMs) };
    const limit = this.config.maxApiKeysPerOrg;
    const key = await this.keys.by(actor).create({ ...record, secret }, limit);
    if (key === null) {
      throw new GaplessError('api_key_limit_reached', `The organization has ${limit} valid keys already. Revoke one.`);
    }
    return { ...apiKeyJson({ ...record, revokedAt: null, lastUsedAt: null }), key };
  }
}
