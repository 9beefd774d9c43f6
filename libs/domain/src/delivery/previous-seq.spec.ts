import { describe, expect, it } from '@jest/globals';
import { previousWithinMs } from './previous-seq.js';

const DAY_MS = 86_400_000;

describe('previousWithinMs', () => {
  it('leaves a day of the retention, or half of a short one', () => {
    expect(previousWithinMs(30 * DAY_MS)).toBe(29 * DAY_MS);
    expect(previousWithinMs(DAY_MS)).toBe(DAY_MS / 2);
  });
});
