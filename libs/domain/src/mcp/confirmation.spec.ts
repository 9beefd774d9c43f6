import { describe, expect, it } from '@jest/globals';
import { Confirmations } from './confirmation.js';

const MINUTE_MS = 60_000;
const confirmations = new Confirmations([Buffer.alloc(32, 1)]);
const PARTS = ['org', 'whe_1', 7, null];
const given = confirmations.of(PARTS, 0);

describe('a confirmation', () => {
  it('is valid for ten minutes', () => {
    expect(confirmations.isValid(given, PARTS, 9 * MINUTE_MS)).toBe(true);
    expect(confirmations.isValid(given, PARTS, 11 * MINUTE_MS)).toBe(false);
  });

  it.each([
    [['org', 'whe_2', 7, null]],
    [['org', 'whe_1', 8, null]],
    [['other', 'whe_1', 7, null]],
    [['org', 'whe_1']],
  ])('confirms nothing but what was looked at: %j', (parts) => {
    expect(confirmations.isValid(given, parts, 0)).toBe(false);
  });

  it('cannot be prolonged', () => {
    expect(confirmations.isValid(given.replace(/^\d+/, `${60 * MINUTE_MS}`), PARTS, 0)).toBe(false);
  });

  it.each(['', '.', 'x.y', `${given}.`, 'Infinity.', '9e15.'])('is not %p', (text) => {
    expect(confirmations.isValid(text, PARTS, 0)).toBe(false);
  });

  it('is of this installation', () => {
    expect(new Confirmations([Buffer.alloc(32, 2)]).isValid(given, PARTS, 0)).toBe(false);
  });
});
