import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { systemClock, type ApiKeyId, type OrgId } from '#libs/domain';
import { Identifiers } from '#libs/runtime';
import { anOrgId } from '../../../../test/support/ids.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { EndpointRecords } from '../endpoints/endpoint-records.js';
import { IdempotencyRecords } from './idempotency-records.js';
import { SecretCipher } from './secret-cipher.js';
import { SecretRotation } from './secret-rotation.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { indexEntriesRead } from '../testing/index-entries-read.js';

const aKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const [OLD, NEW] = [aKey('old'), aKey('new')];
const COUNT = 1_201;

let store: Store;
let drop: () => Promise<void>;
let orgId: OrgId;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  orgId = anOrgId();
  const identifiers = new Identifiers(systemClock);
  const cipher = new SecretCipher(OLD);
  await new EndpointRecords(store, cipher).create(
    {
      id: identifiers.endpointId(),
      orgId,
      name: null,
      description: null,
      url: 'https://example.com/hook',
      events: ['ticket.created'],
      widgetIds: null,
      secret: 'whsec_0',
      createdAt: new Date(),
      logEnd: 0,
    },
    50,
  );
  // More than one batch of them.
  await store.query(
    `insert into endpoints (id, org_id, url, events, secret_ciphertext, created_at)
     select 'whe_' || secret.n, org_id, url, events, secret.ciphertext, created_at
     from endpoints, unnest($1::int[], $2::bytea[]) as secret(n, ciphertext)`,
    [oneTo(COUNT), oneTo(COUNT).map((n) => cipher.encrypt(`whsec_${n}`))],
  );
  const answers = new IdempotencyRecords(store, cipher);
  const request = {
    apiKeyId: 'gk_1' as ApiKeyId,
    path: '/x',
    key: 'k',
    fingerprint: Buffer.from('f'),
    aboutOrgId: null,
  };
  const lease = '0f8fad5b-d9cb-469f-a165-70867728950e';
  await answers.claim(request, lease);
  await answers.answer(lease, request, 'an answer');
  await answers.claim({ ...request, key: 'unanswered' }, lease);
});

afterAll(async () => {
  await drop();
});

async function ciphertexts(): Promise<readonly Buffer[]> {
  const rows = await store.query<{ ciphertext: Buffer }>(
    `select secret_ciphertext as ciphertext from endpoints
     union all select answer_ciphertext from idempotency_keys where answer_ciphertext is not null`,
  );
  return rows.map((row) => row.ciphertext);
}

describe('the rotation of the encryption key', () => {
  it('stops at what was encrypted with a key that is not given, and changes nothing', async () => {
    await expect(new SecretRotation(store, new SecretCipher(NEW)).rotate()).rejects.toThrow(/no key with the id old/);
    expect((await ciphertexts()).every((text) => text.subarray(1, 4).toString() === 'old')).toBe(true);
  });

  it('encrypts all secrets and kept answers again, once, after which the old key can go', async () => {
    const before = new SecretCipher(OLD);
    const plain = (await ciphertexts()).map((text) => before.decrypt(text));
    const rotation = new SecretRotation(store, new SecretCipher(`${NEW},${OLD}`));
    expect(await rotation.rotate()).toEqual({
      endpoints: COUNT + 1,
      feed_list: 0,
      signing_keys: 0,
      idempotency_keys: 1,
    });
    const after = new SecretCipher(NEW);
    expect((await ciphertexts()).map((text) => after.decrypt(text)).toSorted()).toEqual(plain.toSorted());
    expect(await rotation.rotate()).toEqual({ endpoints: 0, feed_list: 0, signing_keys: 0, idempotency_keys: 0 });
  });

  it('goes on where it was broken off, by two at the same time as well', async () => {
    const cipher = new SecretCipher(`${OLD},${NEW}`);
    await store.query('update endpoints set secret_ciphertext = $1 where id = $2', [cipher.encrypt('done'), 'whe_1']);
    const counts = await Promise.all([1, 2].map(() => new SecretRotation(store, cipher).rotate()));
    expect(counts.reduce((sum, { endpoints }) => sum + endpoints, 0)).toBe(COUNT);
    expect((await ciphertexts()).every((text) => text.subarray(1, 4).toString() === 'old')).toBe(true);
  });

  it('reads each row once, however few of many are left', async () => {
    const other = await aTestStore();
    const cipher = new SecretCipher(`${NEW},${OLD}`);
    const [rotated, stale] = [5_000, 600];
    await other.store.query(
      `insert into idempotency_keys (api_key_id, path, key, fingerprint, seed, lease, leased_until, expires_at, answer_ciphertext)
       select 'gk_2', '/x', lpad(n::text, 5, '0'), '', gen_random_uuid(), gen_random_uuid(), now(), now(),
         case when n <= $1 then $3::bytea else $4::bytea end
       from generate_series(1, $1::int + $2::int) n`,
      [rotated, stale, cipher.encrypt('an answer'), new SecretCipher(OLD).encrypt('an answer')],
    );
    const entries = await indexEntriesRead(other.store, orgId, async () => {
      expect(await new SecretRotation(other.store, cipher).rotate()).toMatchObject({ idempotency_keys: stale });
      await other.store.query('select pg_stat_force_next_flush()');
    });
    await other.drop();
    // Pages with stale rows are read again when these are encrypted.
    expect(entries).toBeLessThan(rotated + 3 * stale + 500);
  });
});
