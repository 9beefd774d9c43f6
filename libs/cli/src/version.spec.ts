import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { VERSION } from './version.js';

describe('the version', () => {
  it('is that of the package', () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      readonly version: string;
    };
    expect(VERSION).toBe(version);
  });
});
