import { describe, expect, it } from '@jest/globals';
import { TooMuchToCountError } from '#libs/postgres';
import { countedInTime } from './counted-in-time.js';

describe('the figures of a window', () => {
  it('are those that were counted', async () => {
    expect(await countedInTime('hours', Promise.resolve(7))).toBe(7);
  });

  it('are refused with the parameter if there is too much to count', async () => {
    const counting = Promise.reject(new TooMuchToCountError(new Error('canceling statement due to statement timeout')));
    await expect(countedInTime('hours', counting)).rejects.toMatchObject({
      code: 'validation_failed',
      problems: [{ pointer: '#/hours', code: 'out_of_range' }],
    });
  });

  it('fail as they did for any other reason', async () => {
    const failure = new Error('away');
    await expect(countedInTime('hours', Promise.reject(failure))).rejects.toBe(failure);
  });
});
