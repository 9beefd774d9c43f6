import { randomBytes } from 'node:crypto';
import { systemClock } from '#libs/domain';
import { SecretCipher } from '#libs/postgres';
import { Identifiers } from '#libs/runtime';
import { withStore } from './bench-store.js';

/** An endpoint that subscribes to one type of event, of all widgets. */
export interface Registration {
  readonly orgId: string;
  readonly url: string;
  readonly event: string;
}

const ROWS_EACH_STATEMENT = 10_000;
const SECRET_BYTES = 32;

/**
 * Registers many endpoints at once, each with a secret of its own, as the api would one by one.
 * @param encryptionKeys `SECRET_ENCRYPTION_KEYS` of the Gapless
 */
export async function registerInBulk(
  databaseUrl: string,
  encryptionKeys: string,
  registrations: readonly Registration[],
): Promise<void> {
  const cipher = new SecretCipher(encryptionKeys);
  const identifiers = new Identifiers(systemClock);
  await withStore(databaseUrl, async (store) => {
    for (let from = 0; from < registrations.length; from += ROWS_EACH_STATEMENT) {
      const rows = registrations.slice(from, from + ROWS_EACH_STATEMENT);
      await store.query(
        `insert into endpoints (id, org_id, url, events, secret_ciphertext, created_at)
         select id, org_id, url, array[event], secret, now()
         from unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::bytea[]) as t (id, org_id, url, event, secret)`,
        [
          rows.map(() => identifiers.endpointId()),
          rows.map(({ orgId }) => orgId),
          rows.map(({ url }) => url),
          rows.map(({ event }) => event),
          rows.map(() => cipher.encrypt(`whsec_${randomBytes(SECRET_BYTES).toString('base64')}`)),
        ],
      );
    }
  });
}
