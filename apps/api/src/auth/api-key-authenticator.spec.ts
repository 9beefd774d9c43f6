import { describe, expect, it } from '@jest/globals';
import type { ApiKeyId, OrgId } from '#libs/domain';
import { apiKeyText, sha256OfSecret, type ApiKeyCredential, type ApiKeyRecords } from '#libs/postgres';
import { ApiKeyAuthenticator } from './api-key-authenticator.js';
import type { KeyUses } from './key-uses.js';

const NOW_MS = 1_700_000_000_000;
const ID = 'gk_01K2Z8Q4T7WJ5M3N9R6XBCDEFG' as ApiKeyId;
const ORG = '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001' as OrgId;
const SECRET = Buffer.alloc(32, 1);
const KEY = apiKeyText(ID, SECRET);

function anAuthenticator(change: Partial<ApiKeyCredential> = {}, now = () => NOW_MS) {
  const credential: ApiKeyCredential = {
    id: ID,
    orgId: ORG,
    scopes: ['events:read'],
    secretSha256: sha256OfSecret(SECRET.toString('base64url')),
    expiresAt: null,
    revokedAt: null,
    ...change,
  };
  const stored = new Map([[ID, credential]]);
  const used: ApiKeyId[] = [];
  const records = { credentials: () => Promise.resolve(stored) } as unknown as ApiKeyRecords;
  const uses = { note: (id: ApiKeyId) => used.push(id) } as unknown as KeyUses;
  return { authenticator: new ApiKeyAuthenticator(records, uses, { now }), used };
}

describe('authentication', () => {
  it('returns the key with its organization and scopes, and notes its use', async () => {
    const { authenticator, used } = anAuthenticator();
    expect(await authenticator.authenticate(KEY)).toMatchObject({ id: ID, orgId: ORG, scopes: ['events:read'] });
    expect(used).toEqual([ID]);
  });

  it('answers alike for a key that is unknown, wrong, revoked or expired', async () => {
    const cases = [
      anAuthenticator().authenticator.authenticate(''),
      anAuthenticator().authenticator.authenticate('nonsense'),
      anAuthenticator().authenticator.authenticate(apiKeyText(ID, Buffer.alloc(32, 2))),
      anAuthenticator().authenticator.authenticate(KEY.replace('01K2', '01K3')),
      anAuthenticator({ revokedAt: new Date(NOW_MS - 1) }).authenticator.authenticate(KEY),
      anAuthenticator({ expiresAt: new Date(NOW_MS) }).authenticator.authenticate(KEY),
    ];
    const answers = await Promise.all(cases.map((asked) => asked.then(String, String)));
    expect(new Set(answers)).toEqual(
      new Set(['GaplessError: invalid_api_key: The API key is unknown, revoked or expired.']),
    );
  });

  it('accepts a key until it expires', async () => {
    const { authenticator } = anAuthenticator({ expiresAt: new Date(NOW_MS + 1) });
    await expect(authenticator.authenticate(KEY)).resolves.toMatchObject({ id: ID });
  });

  it('refuses a held key that has expired meanwhile', async () => {
    let nowMs = NOW_MS;
    const { authenticator } = anAuthenticator({ expiresAt: new Date(NOW_MS + 1) }, () => nowMs);
    await authenticator.authenticate(KEY);
    nowMs += 1;
    await expect(authenticator.authenticate(KEY)).rejects.toMatchObject({ code: 'invalid_api_key' });
  });
});
