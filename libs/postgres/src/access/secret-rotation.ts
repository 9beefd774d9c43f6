import type { SecretCipher } from './secret-cipher.js';
import type { Store } from '../connection/store.js';

/** An encrypted column. */
interface EncryptedColumn {
  readonly table: 'endpoints' | 'feed_list' | 'idempotency_keys' | 'signing_keys';
  readonly column: string;
  readonly key: readonly string[];
}

const COLUMNS: readonly EncryptedColumn[] = [
  { table: 'endpoints', column: 'secret_ciphertext', key: ['id'] },
  { table: 'endpoints', column: 'previous_secret_ciphertext', key: ['id'] },
  { table: 'endpoints', column: 'custom_headers_ciphertext', key: ['id'] },
  { table: 'signing_keys', column: 'private_ciphertext', key: ['id'] },
  { table: 'feed_list', column: 'urls_ciphertext', key: ['name'] },
  { table: 'feed_list', column: 'next_urls_ciphertext', key: ['name'] },
  { table: 'idempotency_keys', column: 'answer_ciphertext', key: ['api_key_id', 'path', 'key'] },
];

/** The number of rows that were encrypted again. */
export interface RotatedSecrets {
  readonly endpoints: number;
  /** The urls of the databases that hold the feed. */
  readonly feed_list: number;
  readonly idempotency_keys: number;
  readonly signing_keys: number;
}

const BATCH = 500;

interface EncryptedRow {
  readonly key: string[];
  readonly ciphertext: Buffer;
}

/**
 * Encrypts every secret that has another key with the first key of `SECRET_ENCRYPTION_KEYS`. You can interrupt and
 * repeat it, because it skips finished rows. It does not overwrite secrets that change meanwhile.
 */
export class SecretRotation {
  constructor(
    private readonly store: Store,
    private readonly cipher: SecretCipher,
  ) {}

  /** @throws UnknownKeyError; earlier rows are done then */
  async rotate(): Promise<RotatedSecrets> {
    const rotated = { endpoints: 0, feed_list: 0, idempotency_keys: 0, signing_keys: 0 };
    for (const column of COLUMNS) {
      for (let rows = await this.#stale(column); rows.length > 0; rows = await this.#stale(column)) {
        rotated[column.table] += await this.#encryptAnew(column, rows);
      }
    }
    return rotated;
  }

  async #stale({ table, column, key }: EncryptedColumn): Promise<readonly EncryptedRow[]> {
    const prefix = this.cipher.currentPrefix;
    return this.store.query<EncryptedRow>(
      `select array[${key.join(', ')}] as key, ${column} as ciphertext from ${table}
       where ${column} is not null and substring(${column} from 1 for $1) <> $2
       order by ${key.join(', ')} limit ${BATCH}`,
      [prefix.length, prefix],
    );
  }

  /** Encrypts the rows again. Skips a row that has changed since it was read, because it holds a newer secret. */
  async #encryptAnew({ table, column, key }: EncryptedColumn, rows: readonly EncryptedRow[]): Promise<number> {
    const anew = rows.map(({ ciphertext }) => this.cipher.encrypt(this.cipher.decrypt(ciphertext)));
    const names = key.map((_, index) => `key_${index}`);
    const keys = key.map((_, index) => rows.map((row) => row.key[index]));
    const [changed] = await this.store.query<{ count: string }>(
      `with changed as (
         update ${table} set ${column} = anew.ciphertext
         from unnest(${[...key, 'was', 'becomes'].map((_, index) => `$${index + 1}::${index < key.length ? 'text' : 'bytea'}[]`).join(', ')})
           as anew(${names.join(', ')}, was, ciphertext)
         where ${key.map((name, index) => `${table}.${name} = anew.key_${index}`).join(' and ')}
           and ${table}.${column} = anew.was
         returning 1
       )
       select count(*) from changed`,
      [...keys, rows.map((row) => row.ciphertext), anew],
    );
    return Number(changed?.count ?? 0);
  }
}
