import { describe, expect, it } from '@jest/globals';
import { isSigningSecret } from './signing-secret.js';

describe('a signing secret', () => {
  const ofBytes = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;

  it('has 24 to 64 bytes in base64 after its prefix', () => {
    expect([23, 24, 32, 64, 65].map((bytes) => isSigningSecret(ofBytes(bytes)))).toEqual([
      false,
      true,
      true,
      true,
      false,
    ]);
    // Some libraries leave out the padding.
    expect(isSigningSecret(ofBytes(32).replaceAll('=', ''))).toBe(true);
  });

  it.each(['', 'whsec_', ofBytes(32).slice(6), `${ofBytes(32)}\n`, ofBytes(32).replace('B', '-'), `${ofBytes(33)}A`])(
    'is not %j',
    (text) => {
      expect(isSigningSecret(text)).toBe(false);
    },
  );
});
