import { describe, expect, it } from '@jest/globals';
import type { ApiKeyId } from '#libs/domain';
import { apiKeyText, isSameSecret, parseApiKey, sha256OfSecret } from './api-key.js';

const ID = 'gk_01K2Z8Q4T7WJ5M3N9R6XBCDEFG' as ApiKeyId;
const SECRET = Buffer.alloc(32, 0xfb);

describe('an API key', () => {
  it('is gk_<id>_<secret>, and parses into both', () => {
    const text = apiKeyText(ID, SECRET);
    expect(text).toMatch(/^gk_[0-9A-Z]{26}_[\w-]{43}$/);
    expect(parseApiKey(text)).toEqual({ id: ID, secret: SECRET.toString('base64url') });
  });

  it.each(['', 'gk_', ID, `${ID}_`, `${ID}_short`, ` ${apiKeyText(ID, SECRET)}`, `${apiKeyText(ID, SECRET)}x`])(
    'is not %p',
    (text) => {
      expect(parseApiKey(text)).toBeUndefined();
    },
  );

  it('matches only the secret whose hash is stored', () => {
    const stored = sha256OfSecret(SECRET.toString('base64url'));
    expect(isSameSecret(SECRET.toString('base64url'), stored)).toBe(true);
    expect(isSameSecret(Buffer.alloc(32).toString('base64url'), stored)).toBe(false);
    expect(isSameSecret(SECRET.toString('base64url'), stored.subarray(1))).toBe(false);
  });
});
