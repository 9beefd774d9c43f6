import { afterEach, expect, it, jest } from '@jest/globals';
import type { PublicSigningKey, SigningKeys } from '#libs/postgres';
import { SigningKeySetController } from './signing-key-set.controller.js';

afterEach(() => {
  jest.restoreAllMocks();
});

it('the key set has a new key a second later, also after the clock was set back', async () => {
  let [wallMs, elapsedMs] = [Date.now(), 1_000];
  jest.spyOn(Date, 'now').mockImplementation(() => wallMs);
  jest.spyOn(performance, 'now').mockImplementation(() => elapsedMs);
  let id = 'first';
  const published = () => {
    const key: PublicSigningKey = { id, publicKey: Buffer.alloc(32), createdAt: new Date(), signsUntil: null };
    return Promise.resolve([key]);
  };
  const controller = new SigningKeySetController({ published } as unknown as SigningKeys);
  const shown = async () => (await controller.read()).keys.map(({ kid }) => kid);
  expect(await shown()).toEqual(['first']);
  wallMs -= 3_600_000;
  id = 'second';
  elapsedMs += 900;
  expect(await shown()).toEqual(['first']);
  elapsedMs += 200;
  expect(await shown()).toEqual(['second']);
});
