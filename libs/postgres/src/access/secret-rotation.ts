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

/** The rows that one statement looks at. */
const BATCH = 500;

interface EncryptedRow {
  readonly key: readonly string[];
  readonly ciphertext: Buffer;
}

/** The next rows, and what of them is to be encrypted again. */
interface Page {
  /** The keys of its first and last row; empty if there are no more. */
  readonly bounds: readonly (readonly string[])[];
  readonly stale: readonly EncryptedRow[];
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
      // No key is less than that.
      let after: readonly string[] | undefined = column.key.map(() => '');
      while (after !== undefined) {
        const page: Page = await this.#page(column, after);
        if (page.stale.length > 0) rotated[column.table] += await this.#encryptAgain(column, page);
        after = page.bounds.at(-1);
      }
    }
    return rotated;
  }

  /** Looks at a limited number of rows, whether any of them is stale or not. */
  async #page({ table, column, key }: EncryptedColumn, after: readonly string[]): Promise<Page> {
    const prefix = this.cipher.currentPrefix;
    const rows = await this.store.query<{ names: string[]; ciphertext: Buffer | null }>(
      `select array[${key.join(', ')}] as names,
         case when substring(${column} from 1 for $1) <> $2 then ${column} end as ciphertext
       from ${table} where (${key.join(', ')}) > (${key.map((_, index) => `$${index + 3}`).join(', ')})
       order by ${key.join(', ')} limit ${BATCH}`,
      [prefix.length, prefix, ...after],
    );
    return {
      bounds: [...rows.slice(0, 1), ...rows.slice(-1)].map(({ names }) => names),
      stale: rows.flatMap(({ names, ciphertext }) => (ciphertext === null ? [] : [{ key: names, ciphertext }])),
    };
  }

  /** Encrypts the rows again. Skips a row that has changed since it was read, because it holds a newer secret. */
  async #encryptAgain({ table, column, key }: EncryptedColumn, { bounds, stale: rows }: Page): Promise<number> {
    const fresh = rows.map(({ ciphertext }) => this.cipher.encrypt(this.cipher.decrypt(ciphertext)));
    const names = key.map((_, index) => `key_${index}`);
    const keys = key.map((_, index) => rows.map((row) => row.key[index]));
    const bound = (place: number) => `(${key.map((_, index) => `$${key.length * place + index + 3}`).join(', ')})`;
    const [changed] = await this.store.query<{ count: string }>(
      `with changed as (
         update ${table} set ${column} = fresh.ciphertext
         from unnest(${[...key, 'was', 'becomes'].map((_, index) => `$${index + 1}::${index < key.length ? 'text' : 'bytea'}[]`).join(', ')})
           as fresh(${names.join(', ')}, was, ciphertext)
         where ${key.map((name, index) => `${table}.${name} = fresh.key_${index}`).join(' and ')}
           and ${table}.${column} = fresh.was
           -- So that no plan reads other rows.
           and (${key.map((name) => `${table}.${name}`).join(', ')}) between ${bound(1)} and ${bound(2)}
         returning 1
       )
       select count(*) from changed`,
      [...keys, rows.map((row) => row.ciphertext), fresh, ...bounds.flat()],
    );
    return Number(changed?.count ?? 0);
  }
}
