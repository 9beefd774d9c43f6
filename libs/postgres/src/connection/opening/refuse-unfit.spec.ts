import { describe, expect, it } from '@jest/globals';
import { unfitTrait } from './refuse-unfit.js';

describe('a database', () => {
  it.each([
    { encoding: 'UTF8', version: 16 },
    { encoding: 'SQL_ASCII', version: 18 },
  ])('is fit with $encoding on Postgres $version', (traits) => {
    expect(unfitTrait('db/gapless', traits)).toBeNull();
  });

  it('is unfit on a Postgres that is too old, whatever else it is', () => {
    expect(unfitTrait('db/gapless', { encoding: 'LATIN1', version: 15 })).toBe(
      'The database db/gapless is on Postgres 15. Use Postgres 16 or later.',
    );
  });

  it('is unfit with an encoding that lacks characters', () => {
    expect(unfitTrait('db/gapless', { encoding: 'LATIN1', version: 18 })).toMatch(/encoding LATIN1, which lacks/);
  });
});
