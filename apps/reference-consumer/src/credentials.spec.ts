import { describe, expect, it } from '@jest/globals';
import { emitCommand } from './credentials.js';

describe('emitCommand', () => {
  it('names the data folder as a shell takes it, if it is not the usual one', () => {
    expect(emitCommand('/srv/my data')).toBe("DATA_DIR='/srv/my data' npm run -s gapless -- emit");
    expect(emitCommand(' ')).toBe('npm run -s gapless -- emit');
    expect(emitCommand(undefined)).toBe('npm run -s gapless -- emit');
  });
});
