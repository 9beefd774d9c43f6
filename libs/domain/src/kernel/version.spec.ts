import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { VERSION } from './version.js';

describe('VERSION', () => {
  it("is the package's", () => {
    const file = new URL('../../../../package.json', import.meta.url);
    expect((JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version).toBe(VERSION);
  });
});
