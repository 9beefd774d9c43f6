import { expect, it } from '@jest/globals';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { aCipher, aTestStore } from '../testing/a-test-store.js';
import { SigningKeys } from './signing-keys.js';

it('rotations at the same moment each store the key that they name, and the last one is the current key', async () => {
  const { store, drop } = await aTestStore();
  try {
    const keys = new SigningKeys(store, aCipher());
    await keys.ensure();
    let rotations: readonly Promise<string>[] = [];
    await store.transaction(async (runner) => {
      await runner.query('lock table signing_keys in share mode');
      rotations = [keys.rotate(3_600), keys.rotate(3_600)];
      await eventually(async () => {
        const waiting = `select from pg_locks where relation = 'signing_keys'::regclass and not granted`;
        expect(await runner.query(waiting)).toHaveLength(2);
      });
    });
    const ids = await Promise.all(rotations);
    const published = await keys.published();
    expect(published.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(published.map(({ signsUntil }) => signsUntil)).toEqual([null, expect.any(Date)]);
  } finally {
    await drop();
  }
});
