import { describe, expect, it } from '@jest/globals';
import { Confirmations } from './confirmation.js';

const MINUTE_MS = 60_000;
const confirmations = new Confirmations([Buffer.alloc(32, 1)]);
const PARTS = ['org', 'whe_1', 7, null];
const given = confirmations.of(PARTS, 0);

describe('a confirmation', () => {
  it('is valid for ten minutes', () => {
    expect(confirmations.read(given, PARTS, 9 * MINUTE_MS)).toBeDefined();
    expect(confirmations.read(given, PARTS, 11 * MINUTE_MS)).toBeUndefined();
  });

  it.each([
    [['org', 'whe_2', 7, null]],
    [['org', 'whe_1', 8, null]],
    [['other', 'whe_1', 7, null]],
    [['org', 'whe_1']],
  ])('confirms nothing but what was looked at: %j', (parts) => {
    expect(confirmations.read(given, parts, 0)).toBeUndefined();
  });

  it('cannot be prolonged', () => {
    expect(confirmations.read(given.replace(/^\d+/, `${60 * MINUTE_MS}`), PARTS, 0)).toBeUndefined();
  });

  it.each(['', '.', 'x.y', `${given}.`, 'Infinity.', '9e15.'])('is not %p', (text) => {
    expect(confirmations.read(text, PARTS, 0)).toBeUndefined();
  });

  it('confirms the same thing in each spelling', () => {
    const [until = '', signature = ''] = given.split('.');
    for (const spelling of [` ${until}.${signature}`, `${until}.${signature}==`, `${until}.*${signature}`]) {
      expect(confirmations.read(spelling, PARTS, 0)).toBe(confirmations.read(given, PARTS, 0));
    }
  });

  it('is of this installation', () => {
    expect(new Confirmations([Buffer.alloc(32, 2)]).read(given, PARTS, 0)).toBeUndefined();
  });
});
