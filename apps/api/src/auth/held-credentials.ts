import type { ApiKeyId } from '#libs/domain';
import { CREDENTIALS_HOLD_MS, type ApiKeyCredential } from '#libs/postgres';
import { SharedQuery } from '../http/shared-query.js';

/** The most credentials that are held. Each takes about half a kilobyte. */
const MOST_HELD = 10_000;

interface Held {
  readonly credential: ApiKeyCredential;
  /** Monotonic milliseconds. */
  readonly untilMs: number;
}

/**
 * Looks up the credentials of keys, and holds them for a moment, because busy keys come hundreds of times a second.
 * A revocation is confirmed only after this moment, so a revoked key is refused from the next request on. Unknown keys
 * are not held.
 */
export class HeldCredentials {
  readonly #query: SharedQuery<ApiKeyId, ApiKeyCredential>;
  readonly #held = new Map<ApiKeyId, Held>();

  /** @param monotonicMs a clock that nobody sets, milliseconds */
  constructor(
    fetch: (ids: readonly ApiKeyId[]) => Promise<ReadonlyMap<ApiKeyId, ApiKeyCredential>>,
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {
    this.#query = new SharedQuery(fetch);
  }

  /** Returns the credential of the key; `undefined` if there is no such key. */
  async of(id: ApiKeyId): Promise<ApiKeyCredential | undefined> {
    // From before the query: it may take long, and what it has read is as old as its beginning.
    const nowMs = this.monotonicMs();
    const held = this.#held.get(id);
    if (held !== undefined && nowMs < held.untilMs) return held.credential;
    const credential = (await this.#query.ask([id])).get(id);
    this.#held.delete(id);
    if (credential === undefined) return undefined;
    if (this.#held.size >= MOST_HELD) this.#held.clear();
    this.#held.set(id, { credential, untilMs: nowMs + CREDENTIALS_HOLD_MS });
    return credential;
  }
}
