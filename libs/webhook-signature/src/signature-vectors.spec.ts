import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { SIGNATURE_VECTORS_JSON, type SignatureVector } from '../../../test/vectors/signature-vectors.js';
import { serviceSignature, verifySignature } from './index.js';

const COMMITTED = readFileSync(new URL('../../../test/vectors/signatures.json', import.meta.url), 'utf8');
const { vectors, tolerance_seconds: toleranceSeconds } = JSON.parse(COMMITTED) as {
  readonly vectors: readonly SignatureVector[];
  readonly tolerance_seconds: number;
};
const bodyOf = (vector: SignatureVector): Buffer => Buffer.from(vector.body_base64, 'base64');
const withVerdict = (wanted: string): readonly SignatureVector[] =>
  vectors.filter(({ expected }) => expected === wanted);

describe('test/vectors/signatures.json', () => {
  it('is what its sources describe', () => {
    expect(COMMITTED).toBe(SIGNATURE_VECTORS_JSON);
  });

  it('holds each vector once, and enough of each verdict', () => {
    expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length);
    expect(withVerdict('valid').length).toBeGreaterThanOrEqual(10);
    expect(vectors.length - withVerdict('valid').length).toBeGreaterThanOrEqual(30);
    for (const reason of ['missing', 'malformed', 'expired', 'mismatch']) {
      expect(withVerdict(reason).length).toBeGreaterThanOrEqual(2);
    }
  });
});

describe('verifySignature says of', () => {
  it.each(vectors)('$name: $expected', (vector) => {
    const { header, secret, now, expected } = vector;
    const verdict = verifySignature({ body: bodyOf(vector), header, secret, now, toleranceSeconds });
    expect(verdict.valid ? 'valid' : verdict.reason).toBe(expected);
  });
});

describe('what the service signs', () => {
  it.each(withVerdict('valid'))('is in the vector: $name', (vector) => {
    const { secret, header } = vector;
    const digests = [...(header ?? '').matchAll(/v1=([0-9a-f]{64})/g)].map(([, digest]) => digest);
    const [, timestamp = ''] = /t=(\d+)/.exec(header ?? '') ?? [];
    const [signedAt, v1 = ''] = serviceSignature(secret, Number(timestamp), bodyOf(vector)).split(',');
    expect(signedAt).toBe(`t=${timestamp}`);
    expect(digests).toContain(v1.slice('v1='.length));
  });
});
