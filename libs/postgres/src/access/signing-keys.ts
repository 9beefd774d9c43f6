import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { QueryRunner } from 'typeorm';
import type { Store } from '../connection/store.js';
import { OPERATOR } from './audit-actor.js';
import { appendAudit } from './audit-log.js';
import type { SecretCipher } from './secret-cipher.js';

/** The part of a signing key that everyone may know. */
export interface PublicSigningKey {
  readonly id: string;
  /** The 32 bytes of an Ed25519 public key. */
  readonly publicKey: Buffer;
  readonly createdAt: Date;
  /** `null` for the current key; otherwise until when it signs, too. */
  readonly signsUntil: Date | null;
}

interface KeyRow {
  readonly id: string;
  readonly public_key: Buffer;
  readonly created_at: Date;
  readonly signs_until: Date | null;
}

/** The current key, and those whose overlap is not over; the current one first. */
const IN_USE = `from signing_keys where signs_until is null or signs_until > now() order by signs_until desc nulls first`;

/** The installation's Ed25519 keys. The first one is made when it is needed. */
export class SigningKeys {
  /** By id. The key of an id never changes. */
  readonly #deciphered = new Map<string, KeyObject>();

  constructor(
    private readonly store: Store,
    private readonly cipher: SecretCipher,
  ) {}

  /** Returns the private keys that sign now, the current one first. Makes the first one. */
  async signing(): Promise<readonly KeyObject[]> {
    const find = () =>
      this.store.query<{ id: string; private_ciphertext: Buffer }>(`select id, private_ciphertext ${IN_USE}`, []);
    let rows = await find();
    if (rows.length === 0) {
      await this.ensure();
      rows = await find();
    }
    const used = new Map(
      rows.map((row) => [row.id, this.#deciphered.get(row.id) ?? this.#decipher(row.private_ciphertext)]),
    );
    this.#deciphered.clear();
    for (const [id, key] of used) this.#deciphered.set(id, key);
    return [...used.values()];
  }

  /** Returns the public keys that verify what is sent now, the current one first. */
  async published(): Promise<readonly PublicSigningKey[]> {
    const rows = await this.store.query<KeyRow>(`select id, public_key, created_at, signs_until ${IN_USE}`, []);
    return rows.map(toKey);
  }

  /** Makes the first key, if there is none. */
  async ensure(): Promise<void> {
    const found = await this.store.query('select from signing_keys where signs_until is null', []);
    if (found.length === 0) await this.store.transaction((runner) => this.#insert(runner));
  }

  /**
   * Makes a new key that signs from now on. The one before it also signs during the overlap, and no older one does.
   */
  async rotate(overlapSeconds: number): Promise<string> {
    return this.store.transaction(async (runner) => {
      // Another rotation at the same time would keep the new key of this one from being stored. Reads go on.
      await runner.query('lock table signing_keys in share row exclusive mode');
      await runner.query('delete from signing_keys where signs_until is not null');
      await runner.query(
        `update signing_keys set signs_until = now() + $1 * interval '1 second' where signs_until is null`,
        [overlapSeconds],
      );
      const id = await this.#insert(runner);
      await appendAudit(runner, OPERATOR, {
        orgId: null,
        action: 'signing_key.rotated',
        target: id,
        details: { overlap_seconds: overlapSeconds },
      });
      return id;
    });
  }

  /** Deletes keys whose overlap is over. @returns the number of deleted keys */
  async forget(): Promise<number> {
    const [row] = await this.store.query<{ count: number }>(
      `with forgotten as (delete from signing_keys where signs_until <= now() returning 1)
       select count(*)::int as count from forgotten`,
      [],
    );
    return row?.count ?? 0;
  }

  /** @returns the id of the new key, which is not stored if there is a current one */
  async #insert(runner: QueryRunner): Promise<string> {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const { x = '' } = publicKey.export({ format: 'jwk' });
    const bytes = Buffer.from(x, 'base64url');
    const id = `sgk_${bytes.subarray(0, 12).toString('hex')}`;
    const text = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
    await runner.query(
      `insert into signing_keys (id, public_key, private_ciphertext, created_at) values ($1, $2, $3, now())
       on conflict ((true)) where signs_until is null do nothing`,
      [id, bytes, this.cipher.encrypt(text)],
    );
    return id;
  }

  #decipher(ciphertext: Buffer): KeyObject {
    const key = Buffer.from(this.cipher.decrypt(ciphertext), 'base64');
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  }
}

function toKey(row: KeyRow): PublicSigningKey {
  return { id: row.id, publicKey: row.public_key, createdAt: row.created_at, signsUntil: row.signs_until };
}
