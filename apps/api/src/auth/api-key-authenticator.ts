import { Inject, Injectable } from '@nestjs/common';
import { GaplessError, type ApiKeyId, type Clock } from '#libs/domain';
import { ApiKeyRecords, isSameSecret, parseApiKey, type ApiKeyCredential } from '#libs/postgres';
import { CLOCK } from '#libs/platform';
import type { AuthenticatedKey } from './authenticated-key.js';
import { HeldCredentials } from './held-credentials.js';
import { KeyUses } from './key-uses.js';

/** Whether the key may be used at the time. */
export function isInForce(credential: Pick<ApiKeyCredential, 'revokedAt' | 'expiresAt'>, nowMs: number): boolean {
  return credential.revokedAt === null && (credential.expiresAt === null || credential.expiresAt.getTime() > nowMs);
}

/** Finds the key that a caller presents (contract 2.3). */
@Injectable()
export class ApiKeyAuthenticator {
  readonly #credentials: HeldCredentials;

  constructor(
    records: ApiKeyRecords,
    private readonly uses: KeyUses,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    this.#credentials = new HeldCredentials((ids) => records.credentials(ids));
  }

  /**
   * @param text the whole key, as its owner got it
   * @throws GaplessError `invalid_api_key` for a key that is unknown, revoked or expired alike
   */
  async authenticate(text: string): Promise<AuthenticatedKey & { readonly id: ApiKeyId }> {
    const presented = parseApiKey(text);
    if (presented === undefined) throw invalid();
    const credential = await this.#credentials.of(presented.id);
    const nowMs = this.clock.now();
    if (credential === undefined || !isSameSecret(presented.secret, credential.secretSha256)) throw invalid();
    if (!isInForce(credential, nowMs)) throw invalid();
    this.uses.note(credential.id, nowMs);
    const { id, orgId, scopes, expiresAt } = credential;
    return { id, quota: id, orgId, scopes, expiresAt };
  }

  /** Whether a key that was authenticated earlier may still be used. */
  async isInForce(id: ApiKeyId): Promise<boolean> {
    const credential = await this.#credentials.of(id);
    return credential !== undefined && isInForce(credential, this.clock.now());
  }
}

function invalid(): GaplessError {
  return new GaplessError('invalid_api_key', 'The API key is unknown, revoked or expired.');
}
