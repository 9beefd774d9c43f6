import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { asymmetricSignature } from './asymmetric-signature.js';
import { standardWebhooksSignature } from './standard-webhooks-signature.js';
import {
  publicKeysOf,
  verifyStandardSignature,
  type VerifyStandardSignatureOptions,
} from './verify-standard-signature.js';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const ID = 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG';
const T = 1_750_000_000;
const BODY = Buffer.from('{"n": 1.0, "t": "ä"}');
const [one, other] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
const publicKeyOf = ({ publicKey }: typeof one) => publicKeysOf({ keys: [publicKey.export({ format: 'jwk' })] })[0]!;
const SIGNED = asymmetricSignature(one.privateKey, ID, T, BODY);
const HMAC = standardWebhooksSignature(SECRET, ID, T, BODY);

function verify(
  headers: Readonly<Record<string, string | undefined>>,
  change: Partial<VerifyStandardSignatureOptions> = {},
) {
  const all: Readonly<Record<string, string | undefined>> = {
    'webhook-id': ID,
    'webhook-timestamp': String(T),
    'webhook-signature': `${HMAC} ${SIGNED}`,
    ...headers,
  };
  return verifyStandardSignature({
    body: BODY,
    header: (name) => all[name],
    keys: publicKeyOf(one),
    now: T,
    ...change,
  });
}

describe('verifyStandardSignature', () => {
  it('verifies v1a by a public key and v1 by a secret, and neither by the other', () => {
    expect(verify({})).toEqual({ valid: true, timestamp: T });
    expect(verify({}, { keys: SECRET })).toEqual({ valid: true, timestamp: T });
    expect(verify({ 'webhook-signature': HMAC })).toMatchObject({ reason: 'mismatch' });
    expect(verify({ 'webhook-signature': SIGNED }, { keys: SECRET })).toMatchObject({ reason: 'mismatch' });
    expect(verify({ 'webhook-signature': SIGNED.replace('v1a', 'v1') })).toMatchObject({ reason: 'mismatch' });
    const renamed = { 'webhook-signature': HMAC.replace('v1', 'v1a') };
    expect(verify(renamed, { keys: SECRET })).toMatchObject({ reason: 'mismatch' });
  });

  it('is Ed25519 over id, timestamp and body, as Node checks it', () => {
    const message = Buffer.concat([Buffer.from(`${ID}.${T}.`), BODY]);
    expect(SIGNED).toBe(`v1a,${sign(null, message, one.privateKey).toString('base64')}`);
  });

  it('accepts any of several keys, and either signature while one key replaces another', () => {
    const both = `${HMAC} ${asymmetricSignature(other.privateKey, ID, T, BODY)} ${SIGNED}`;
    for (const key of [one, other]) {
      expect(verify({ 'webhook-signature': both }, { keys: publicKeyOf(key) })).toMatchObject({ valid: true });
    }
    expect(verify({}, { keys: [publicKeyOf(other), publicKeyOf(one)] })).toMatchObject({ valid: true });
    expect(verify({}, { keys: publicKeyOf(other) })).toMatchObject({ reason: 'mismatch' });
  });

  it.each<[string, Record<string, string | undefined>, string]>([
    ['another id', { 'webhook-id': 'evt_1' }, 'mismatch'],
    ['another timestamp', { 'webhook-timestamp': String(T + 1) }, 'mismatch'],
    ['an old timestamp', { 'webhook-timestamp': String(T - 301) }, 'expired'],
    ['no id', { 'webhook-id': undefined }, 'missing'],
    ['no timestamp', { 'webhook-timestamp': undefined }, 'missing'],
    ['a timestamp that is none', { 'webhook-timestamp': '1e9' }, 'malformed'],
    ['no signature', { 'webhook-signature': undefined }, 'missing'],
    ['nothing that is a signature', { 'webhook-signature': 'v2,abc' }, 'malformed'],
    ['half a signature', { 'webhook-signature': SIGNED.slice(0, 60) }, 'malformed'],
  ])('refuses %s', (_case, headers, reason) => {
    expect(verify(headers)).toEqual({ valid: false, reason });
  });

  it('refuses a body with one other byte', () => {
    fc.assert(
      fc.property(fc.nat({ max: BODY.length - 1 }), fc.integer({ min: 1, max: 255 }), (index, flip) => {
        const body = Buffer.from(BODY);
        body[index] = body[index]! ^ flip;
        expect(verify({}, { body })).toMatchObject({ reason: 'mismatch' });
      }),
    );
  });

  it('takes a secret without its prefix, and is not put off by another key or signature of a wrong kind', () => {
    expect(verify({}, { keys: SECRET.slice('whsec_'.length) })).toMatchObject({ valid: true });
    expect(verify({}, { keys: [undefined as never, SECRET] })).toMatchObject({ valid: true });
    expect(verify({}, { keys: ['whpk_AAAA', publicKeyOf(one)] })).toMatchObject({ valid: true });
    const mixed = { 'webhook-signature': `${SIGNED.replace('v1a', 'v1')} ${HMAC}` };
    expect(verify(mixed, { keys: SECRET })).toMatchObject({ valid: true });
  });

  it('accepts nothing that is signed with an empty secret', () => {
    const forged = { 'webhook-signature': standardWebhooksSignature('whsec_', ID, T, BODY) };
    expect(verify(forged, { keys: 'whsec_' })).toMatchObject({ reason: 'mismatch' });
  });

  it('accepts nothing by a key that is empty or none, and never throws', () => {
    for (const keys of ['', 'whsec_', 'whpk_', 'whpk_AAAA', []])
      expect(verify({}, { keys })).toMatchObject({ valid: false });
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.string(), (keys, body, signature) => {
        const options = { keys, body } as Partial<VerifyStandardSignatureOptions>;
        expect(verify({ 'webhook-signature': signature }, options).valid).toBe(false);
      }),
    );
    expect(verifyStandardSignature(undefined as never).valid).toBe(false);
  });

  it('leaves out keys of other kinds', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
    const x25519 = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
    expect(publicKeysOf({ keys: [rsa, x25519, {}] })).toEqual([]);
  });
});
