import type { ApiKeyId, OrgId, PortalSessionId } from '#libs/domain';
import type { SecretCipher } from './secret-cipher.js';
import type { Store } from '../connection/store.js';

/** A request that takes effect once, even if it is repeated. */
export interface IdempotentRequest {
  readonly apiKeyId: ApiKeyId | PortalSessionId;
  readonly path: string;
  /** The caller's `Idempotency-Key`. */
  readonly key: string;
  /** SHA-256 of the body. */
  readonly fingerprint: Buffer;
  /** The org that a service key manages with the request; the answer ends with it. */
  readonly aboutOrgId: OrgId | null;
}

/** What to do with the request. */
export type Claim =
  /**
   * The caller may work on the request until the lease ends. `seed` is the lease of the first claim of this request, and the
   * same for all later ones. Use it to derive ids, so that a repeat creates nothing twice.
   */
  | { readonly kind: 'claimed'; readonly seed: string }
  /** The request was answered before. */
  | { readonly kind: 'answered'; readonly answer: string }
  /** The key was used with another body. */
  | { readonly kind: 'other_body' }
  /** Another process is working on the request. */
  | { readonly kind: 'in_progress' };

/** How long an answer is kept, milliseconds (contract 5.3). */
const KEPT_MS = 24 * 60 * 60 * 1_000;
/**
 * Longer than any request takes, milliseconds. If a process dies during a request, the key is blocked for this long.
 */
export const LEASE_MS = 60_000;
/** The most rows that one statement deletes, so that none holds locks for long. */
const PRUNE_ROWS = 5_000;

/**
 * Requests with an `Idempotency-Key` and their answers. Answers are encrypted, because they may hold secrets. Leases
 * use the database's clock, which all processes share.
 */
export class IdempotencyRecords {
  constructor(
    private readonly store: Store,
    private readonly cipher: SecretCipher,
  ) {}

  /** @param lease a new UUID that identifies this claim */
  async claim(request: IdempotentRequest, lease: string): Promise<Claim> {
    const { apiKeyId, path, key, fingerprint, aboutOrgId } = request;
    const [row] = await this.store.query<{
      seed: string | null;
      fingerprint: Buffer | null;
      answer_ciphertext: Buffer | null;
    }>(
      `with claimed as (
         insert into idempotency_keys as known
           (api_key_id, path, key, fingerprint, seed, lease, leased_until, answer_ciphertext, expires_at, about_org_id)
         values ($1, $2, $3, $4, $5, $5, now() + $6 * interval '1 ms', null, now() + $7 * interval '1 ms', $8)
         on conflict (api_key_id, path, key) do update set
           fingerprint = excluded.fingerprint, lease = excluded.lease, leased_until = excluded.leased_until,
           answer_ciphertext = null, expires_at = excluded.expires_at,
           about_org_id = excluded.about_org_id,
           seed = case when known.expires_at <= now() then excluded.seed else known.seed end
         where known.expires_at <= now() or (
           known.answer_ciphertext is null and known.leased_until <= now() and known.fingerprint = excluded.fingerprint
         )
         returning known.seed
       )
       select (select seed from claimed) as seed, known.fingerprint, known.answer_ciphertext
       from (values (1)) one
       left join idempotency_keys known on api_key_id = $1 and path = $2 and key = $3`,
      [apiKeyId, path, key, fingerprint, lease, LEASE_MS, KEPT_MS, aboutOrgId],
    );
    if (row !== undefined && row.seed !== null) return { kind: 'claimed', seed: row.seed };
    // The statement does not see a row that was inserted at the same time: another process has just begun.
    if (!row?.fingerprint) return { kind: 'in_progress' };
    if (!row.fingerprint.equals(fingerprint)) return { kind: 'other_body' };
    if (row.answer_ciphertext === null) return { kind: 'in_progress' };
    return { kind: 'answered', answer: this.cipher.decrypt(row.answer_ciphertext) };
  }

  /** Stores the answer, unless another process has taken the lease. */
  async answer(lease: string, request: IdempotentRequest, answer: string): Promise<void> {
    await this.store.query(
      `with answered as (
         update idempotency_keys set answer_ciphertext = $5
         where api_key_id = $1 and path = $2 and key = $3 and lease = $4
       ) select 1`,
      [request.apiKeyId, request.path, request.key, lease, this.cipher.encrypt(answer)],
    );
  }

  /** Removes a request that had no effect, so that its key can be used again. */
  async forget(lease: string, request: IdempotentRequest): Promise<void> {
    await this.store.query(
      `with forgotten as (
         delete from idempotency_keys where api_key_id = $1 and path = $2 and key = $3 and lease = $4
       ) select 1`,
      [request.apiKeyId, request.path, request.key, lease],
    );
  }

  /** Ends the lease on a request whose effect is unknown, so that the same request can be retried. */
  async reopen(lease: string, request: IdempotentRequest): Promise<void> {
    await this.store.query(
      `with reopened as (
         update idempotency_keys set leased_until = now()
         where api_key_id = $1 and path = $2 and key = $3 and lease = $4
       ) select 1`,
      [request.apiKeyId, request.path, request.key, lease],
    );
  }

  /** Deletes expired requests. @returns the number of deleted rows */
  async prune(): Promise<number> {
    for (let pruned = 0; ;) {
      const rows = await this.store.query(
        `with pruned as (
           delete from idempotency_keys where (api_key_id, path, key) in (
             select api_key_id, path, key from idempotency_keys where expires_at <= now() limit $1
           ) returning 1
         ) select * from pruned`,
        [PRUNE_ROWS],
      );
      pruned += rows.length;
      if (rows.length < PRUNE_ROWS) return pruned;
    }
  }
}
