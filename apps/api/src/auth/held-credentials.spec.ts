import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiKeyId, OrgId } from '#libs/domain';
import { CREDENTIALS_HOLD_MS, type ApiKeyCredential } from '#libs/postgres';
import { HeldCredentials } from './held-credentials.js';

const ID = 'gk_01K2Z8Q4T7WJ5M3N9R6XBCDEFG' as ApiKeyId;
const CREDENTIAL: ApiKeyCredential = {
  id: ID,
  orgId: '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001' as OrgId,
  scopes: [],
  secretSha256: Buffer.alloc(32),
  expiresAt: null,
  revokedAt: null,
};

let nowMs: number;
let queries: number;
let stored: Map<ApiKeyId, ApiKeyCredential>;
/** Called while a query runs, after it has read. */
let whileAsking: () => void;
let credentials: HeldCredentials;

beforeEach(() => {
  nowMs = 1_000;
  queries = 0;
  stored = new Map([[ID, CREDENTIAL]]);
  whileAsking = () => undefined;
  credentials = new HeldCredentials(
    (ids) => {
      queries++;
      const found = new Map(ids.flatMap((id) => (stored.has(id) ? [[id, stored.get(id)!] as const] : [])));
      whileAsking();
      return Promise.resolve(found);
    },
    () => nowMs,
  );
});

describe('the credentials of a key', () => {
  it('are read once for the requests of a moment', async () => {
    expect(await credentials.of(ID)).toBe(CREDENTIAL);
    nowMs += CREDENTIALS_HOLD_MS - 1;
    expect(await credentials.of(ID)).toBe(CREDENTIAL);
    expect(queries).toBe(1);
  });

  it('are read again after it, so that a revocation that was confirmed counts', async () => {
    await credentials.of(ID);
    const revoked = { ...CREDENTIAL, revokedAt: new Date(0) };
    stored.set(ID, revoked);
    nowMs += CREDENTIALS_HOLD_MS;
    expect(await credentials.of(ID)).toBe(revoked);
  });

  it('count from the beginning of the query, however long it takes', async () => {
    whileAsking = () => {
      nowMs += CREDENTIALS_HOLD_MS;
      stored.clear();
    };
    await credentials.of(ID);
    expect(await credentials.of(ID)).toBeUndefined();
  });

  it('are not held for a key that is unknown', async () => {
    stored.clear();
    expect(await credentials.of(ID)).toBeUndefined();
    stored.set(ID, CREDENTIAL);
    expect(await credentials.of(ID)).toBe(CREDENTIAL);
  });

  it('are held for several keys at once', async () => {
    const other = 'gk_other' as ApiKeyId;
    stored.set(other, { ...CREDENTIAL, id: other });
    for (const id of [ID, other, ID, other]) await credentials.of(id);
    expect(queries).toBe(2);
  });

  it('are given back when there are very many', async () => {
    const ids = Array.from({ length: 10_001 }, (_, n) => `gk_${n}` as ApiKeyId);
    for (const id of ids) stored.set(id, CREDENTIAL);
    for (const id of ids) await credentials.of(id);
    queries = 0;
    await credentials.of(ids[0]!);
    expect(queries).toBe(1);
  });
});
