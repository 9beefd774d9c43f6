import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { shownCertificate } from '#libs/domain';
import { loadCertificate } from './client-certificate.js';
import {
  makeCertificates,
  type KeyAndCertificate,
  type TestCertificates,
} from '../../../../../test/support/certificates.js';

let made: TestCertificates;

beforeAll(() => {
  made = makeCertificates();
});

const load = (certificate: string, private_key: string) => loadCertificate({ certificate, private_key }, Date.now());

function keyOf(type: 'rsa' | 'secp256k1'): string {
  const { privateKey } =
    type === 'rsa'
      ? generateKeyPairSync('rsa', { modulusLength: 1_024 })
      : generateKeyPairSync('ec', { namedCurve: type });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

interface RsaNumbers {
  readonly n: bigint;
  readonly e: bigint;
  readonly d: bigint;
  readonly p: bigint;
  readonly q: bigint;
  readonly dp: bigint;
  readonly dq: bigint;
  readonly qi: bigint;
}

/** An element of DER. */
function element(tag: number, content: Buffer): Buffer {
  const hex = content.length.toString(16);
  const length = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  const isShort = content.length < 0x80;
  return Buffer.concat([Buffer.of(tag, ...(isShort ? [] : [0x80 + length.length])), length, content]);
}

/** A non-negative integer in DER. */
function integer(number: bigint): Buffer {
  const hex = number.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  // The highest bit is the sign.
  return element(2, (bytes[0] ?? 0) < 0x80 ? bytes : Buffer.concat([Buffer.of(0), bytes]));
}

/** Returns a function that makes an RSA key of 2,048 bits with some of its numbers changed, as no library would. */
function anRsaKey(): (change: (numbers: RsaNumbers) => Partial<RsaNumbers>) => string {
  const jwk = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'jwk' });
  const read = (text = '') => BigInt(`0x${Buffer.from(text, 'base64url').toString('hex')}`);
  const [n, e, d, p, q] = [read(jwk.n), read(jwk.e), read(jwk.d), read(jwk.p), read(jwk.q)];
  const numbers = { n, e, d, p, q, dp: read(jwk.dp), dq: read(jwk.dq), qi: read(jwk.qi) };
  return (change) => {
    const changed = { ...numbers, ...change(numbers) };
    const order = [0n, changed.n, changed.e, changed.d, changed.p, changed.q, changed.dp, changed.dq, changed.qi];
    const der = element(0x30, Buffer.concat(order.map(integer)));
    const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
    return ['-----BEGIN RSA PRIVATE KEY-----', ...lines, '-----END RSA PRIVATE KEY-----', ''].join('\n');
  };
}

describe('a client certificate', () => {
  it('is loaded with its key, and with its chain', () => {
    const { cert, key } = made.valid;
    expect(load(cert, key)).toMatchObject({ kind: 'loaded' });
    expect(load(cert + made.ca, key)).toMatchObject({ kind: 'loaded' });
  });

  it.each<[string, string, (one: KeyAndCertificate) => readonly [string, string]]>([
    ['no certificate', 'certificate must be a certificate', ({ key }) => ['hello', key]],
    ['a key in its place', 'certificate must be a certificate', ({ key }) => [key, key]],
    ['a key beside it', 'certificate must not hold a private key', ({ cert, key }) => [cert + key, key]],
    [
      'a chain that breaks off',
      'certificate cannot be used',
      ({ cert, key }) => [`${cert}-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n`, key],
    ],
    ['an expired one', 'certificate has expired', () => [made.expired.cert, made.expired.key]],
    ['no key', 'private_key must be a private key', ({ cert }) => [cert, cert]],
    ['the key of another', 'private_key does not belong', ({ cert }) => [cert, made.wrongHost.key]],
    [
      'an encrypted key',
      'private_key must not be encrypted',
      ({ cert, key }) => [cert, key.replaceAll('PRIVATE', 'ENCRYPTED PRIVATE')],
    ],
    ['a short RSA key', 'private_key must be RSA of 2048', ({ cert }) => [cert, keyOf('rsa')]],
    ['another curve', 'private_key must be RSA of 2048', ({ cert }) => [cert, keyOf('secp256k1')]],
  ])('is refused with %s', (_case, reason, given) => {
    const loaded = load(...given(made.valid));
    expect(loaded).toMatchObject({ kind: 'refused' });
    expect(loaded.kind === 'refused' && `${loaded.member} ${loaded.detail}`).toContain(reason);
  });

  it('is refused with an RSA key whose numbers make a signature slow', () => {
    const key = anRsaKey();
    expect(
      load(
        made.valid.cert,
        key(() => ({})),
      ),
    ).toMatchObject({ detail: 'does not belong to the certificate' });
    const slow = [
      key(({ d, p, q }) => ({ d: d + (p - 1n) * (q - 1n) * 2n ** 16_000n })),
      key(({ e, p, q }) => ({ e: e + (p - 1n) * (q - 1n) })),
      key(({ p, dp }) => ({ dp: dp + (p - 1n) * 2n ** 8_000n })),
      key(({ q, dq }) => ({ dq: dq + (q - 1n) * 2n ** 8_000n })),
      key(({ p, dp }) => ({ p: p * 2n ** 8_000n, dp: dp * 2n ** 8_000n })),
    ];
    for (const pem of slow) {
      expect(load(made.valid.cert, pem)).toMatchObject({
        member: 'private_key',
        detail: 'must be RSA of 2048 to 4096 bits with usual exponents, or EC on P-256, P-384 or P-521',
      });
    }
  });

  it('is shown without its key', () => {
    const shown = shownCertificate({ certificate: made.valid.cert, private_key: made.valid.key });
    expect(shown).toEqual({
      subject: 'CN=valid',
      fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/) as unknown,
      expires_at: '2099-12-31T00:00:00.000Z',
    });
  });
});
