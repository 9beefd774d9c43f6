import { expect, it } from '@jest/globals';
import { DecipheredSecrets } from './deciphered-secrets.js';

it('secrets are deciphered once, while they are not too long for all of them to be kept', () => {
  const deciphered: string[] = [];
  const decrypt = (ciphertext: Buffer) => {
    deciphered.push(ciphertext.toString());
    return 'x'.repeat(9);
  };
  const secrets = new DecipheredSecrets({ decrypt }, 35);
  const read = (...names: readonly string[]) => {
    for (const name of names) secrets.of(Buffer.from(name));
  };
  read('a', 'b', 'c', 'a', 'b', 'c');
  expect(deciphered).toEqual(['a', 'b', 'c']);
  // There is no room for a fourth one beside the others.
  read('d', 'd', 'a', 'a');
  expect(deciphered).toEqual(['a', 'b', 'c', 'd', 'a']);
});
