import type { ApiKeyId } from '#libs/domain';
import type { SecretCipher } from './secret-cipher.js';
import type { Store } from '../connection/store.js';

/** A request that must have its effect once, however often it comes. */
export interface IdempotentRequest {
  readonly apiKeyId: ApiKeyId;
  readonly path: string;
  /** The caller's `Idempotency-Key`. */
  readonly key: string;
  /** SHA-256 of the body. */
  readonly fingerprint: Buffer;
}

/** What to do with the request. */
export type Claim =
  /**
   * It is the caller's to work on until the lease is over. `seed` is the same for everybody who works on this request
   * after another: what is named by it is not made twice.
   */
  | { readonly kind: 'claimed'; readonly seed: string }
  /** It was answered before. */
  | { readonly kind: 'answered'; readonly answer: string }
  /** The key was used for another body. */
  | { readonly kind: 'other_body' }
  /** Somebody is working on it. */
  | { readonly kind: 'in_progress' };

/** For how long an answer is kept (contract 5.3). */
const KEPT_MS = 24 * 60 * 60 * 1_000;
/** Longer than any request takes; a process that died in the middle of one blocks its key for so long. */
const LEASE_MS = 60_000;
/** Rows that one statement deletes, so that none holds locks for long. */
const PRUNE_ROWS = 5_000;

/**
 * Requests with an `Idempotency-Key` and their answers, which are kept encrypted: they may hold secrets. The database's
 * clock counts, because leases are between processes.
 */
export class IdempotencyRecords {
  constructor(
    private readonly store: Store,
    private readonly cipher: SecretCipher,
  ) {}

  /** @param lease a new UUID, which names this claim */
  async claim(request: IdempotentRequest, lease: string): Promise<Claim> {
    const { apiKeyId, path, key, fingerprint } = request;
    const [row] = await this.store.query<{
      seed: string | null;
      fingerprint: Buffer | null;
      answer_ciphertext: Buffer | null;
    }>(
      `with claimed as (
         insert into idempotency_keys as known
           (api_key_id, path, key, fingerprint, seed, lease, leased_until, answer_ciphertext, expires_at)
         values ($1, $2, $3, $4, $5, $5, now() + $6 * interval '1 ms', null, now() + $7 * interval '1 ms')
         on conflict (api_key_id, path, key) do update set
           fingerprint = excluded.fingerprint, lease = excluded.lease, leased_until = excluded.leased_until,
           answer_ciphertext = null, expires_at = excluded.expires_at,
           seed = case when known.expires_at <= now() then excluded.seed else known.seed end
         where known.expires_at <= now() or (
           known.answer_ciphertext is null and known.leased_until <= now() and known.fingerprint = excluded.fingerprint
         )
         returning known.seed
       )
       select (select seed from claimed) as seed, known.fingerprint, known.answer_ciphertext
       from (values (1)) one
       left join idempotency_keys known on api_key_id = $1 and path = $2 and key = $3`,
      [apiKeyId, path, key, fingerprint, lease, LEASE_MS, KEPT_MS],
    );
    if (row !== undefined && row.seed !== null) return { kind: 'claimed', seed: row.seed };
    // Nothing is seen of a row that came into being at the same time: somebody has just begun.
    if (!row?.fingerprint) return { kind: 'in_progress' };
    if (!row.fingerprint.equals(fingerprint)) return { kind: 'other_body' };
    if (row.answer_ciphertext === null) return { kind: 'in_progress' };
    return { kind: 'answered', answer: this.cipher.decrypt(row.answer_ciphertext) };
  }

  /** Keeps the answer, unless the lease has passed to somebody else. */
  async answer(lease: string, request: IdempotentRequest, answer: string): Promise<void> {
    await this.store.query(
      `with answered as (
         update idempotency_keys set answer_ciphertext = $5
         where api_key_id = $1 and path = $2 and key = $3 and lease = $4
       ) select 1`,
      [request.apiKeyId, request.path, request.key, lease, this.cipher.encrypt(answer)],
    );
  }

  /** Forgets a request that had no effect: its key is free for another one. */
  async forget(lease: string, request: IdempotentRequest): Promise<void> {
    await this.store.query(
      `with forgotten as (
         delete from idempotency_keys where api_key_id = $1 and path = $2 and key = $3 and lease = $4
       ) select 1`,
      [request.apiKeyId, request.path, request.key, lease],
    );
  }

  /** Ends the lease on a request of which nobody knows whether it had its effect: the same one can be tried again. */
  async reopen(lease: string, request: IdempotentRequest): Promise<void> {
    await this.store.query(
      `with reopened as (
         update idempotency_keys set leased_until = now()
         where api_key_id = $1 and path = $2 and key = $3 and lease = $4
       ) select 1`,
      [request.apiKeyId, request.path, request.key, lease],
    );
  }

  /** Deletes what is past its time. @returns how many */
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
