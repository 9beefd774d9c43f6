import { describe, expect, it } from '@jest/globals';
import { resolve } from 'node:path';
import { dataDirOf } from './data-dir.js';

describe('the folder for all data', () => {
  it.each([{}, { DATA_DIR: '' }, { DATA_DIR: ' ' }])('is .data without a name: %j', (environment) => {
    expect(dataDirOf(environment)).toBe(resolve('.data'));
  });

  it('is the named one', () => {
    expect(dataDirOf({ DATA_DIR: 'elsewhere' })).toBe(resolve('elsewhere'));
    expect(dataDirOf({ DATA_DIR: '/var/lib/gap less' })).toBe('/var/lib/gap less');
  });
});
