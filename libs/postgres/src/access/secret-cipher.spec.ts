import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { SecretCipher } from './secret-cipher.js';

const OLD = `2025:${randomBytes(32).toString('base64')}`;
const NEW = `2026-b:${randomBytes(32).toString('base64')}`;
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

describe('SecretCipher', () => {
  it('decrypts what it encrypted, and holds nothing of it in the ciphertext', () => {
    const cipher = new SecretCipher(NEW);
    const ciphertext = cipher.encrypt(SECRET);
    expect(cipher.decrypt(ciphertext)).toBe(SECRET);
    expect(ciphertext.includes('whsec')).toBe(false);
  });

  it('encrypts the same text to something else each time', () => {
    const cipher = new SecretCipher(NEW);
    expect(cipher.encrypt(SECRET).equals(cipher.encrypt(SECRET))).toBe(false);
  });

  it('decrypts with every key of the list, and encrypts with the first', () => {
    const before = new SecretCipher(OLD).encrypt(SECRET);
    const rotated = new SecretCipher(`${NEW}, ${OLD}`);
    expect(rotated.decrypt(before)).toBe(SECRET);
    expect(new SecretCipher(NEW).decrypt(rotated.encrypt(SECRET))).toBe(SECRET);
  });

  it('derives a key from each key and for each purpose, the same every time', () => {
    const [fromNew, fromOld, ...others] = new SecretCipher(`${NEW},${OLD}`).keysFor('cursors');
    expect(others).toEqual([]);
    expect(new SecretCipher(OLD).keysFor('cursors')).toEqual([fromOld]);
    expect(fromNew).not.toEqual(fromOld);
    expect(new SecretCipher(NEW).keysFor('others')).not.toEqual([fromNew]);
  });

  it('names the key that is missing', () => {
    const before = new SecretCipher(OLD).encrypt(SECRET);
    expect(() => new SecretCipher(NEW).decrypt(before)).toThrow(/2025/);
  });

  it('refuses a ciphertext that was changed, at any byte', () => {
    const cipher = new SecretCipher(NEW);
    const ciphertext = cipher.encrypt(SECRET);
    for (let at = 0; at < ciphertext.length; at++) {
      const changed = Buffer.from(ciphertext);
      changed[at]! ^= 1;
      expect(() => cipher.decrypt(changed)).toThrow();
    }
    expect(() => cipher.decrypt(ciphertext.subarray(0, 10))).toThrow();
    expect(() => cipher.decrypt(Buffer.alloc(0))).toThrow();
  });

  it('refuses the ciphertext of another key with the same id', () => {
    const other = new SecretCipher(`2026-b:${randomBytes(32).toString('base64')}`);
    expect(() => new SecretCipher(NEW).decrypt(other.encrypt(SECRET))).toThrow();
  });
});
