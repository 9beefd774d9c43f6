import { describe, expect, it } from '@jest/globals';
import { portToTake } from './port-to-take.js';

describe('the port of the API', () => {
  it('is the named one', async () => {
    expect(await portToTake({ PORT: '4000' })).toBe('4000');
  });

  it.each([{ PORT: '' }, { PORT: ' ' }, {}])(
    'is the usual one, or any if that is taken, without a name: %j',
    async (given) => {
      expect(['3000', '0']).toContain(await portToTake(given));
    },
  );
});
