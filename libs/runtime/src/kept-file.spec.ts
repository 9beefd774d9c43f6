import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { replaceFile, textKeptIn } from './kept-file.js';

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-kept-'));
  file = join(directory, 'key');
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

describe('a file that is made once', () => {
  it('has its first text for good, and can be read by its owner alone', () => {
    expect(textKeptIn(file, () => 'first\n')).toBe('first');
    expect(textKeptIn(file, () => 'second\n')).toBe('first');
    expect(readFileSync(file, 'utf8')).toBe('first\n');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('replaces the draft of a process that was killed while it wrote', () => {
    writeFileSync(`${file}.new`, 'fir', { mode: 0o644 });
    expect(textKeptIn(file, () => 'second')).toBe('second');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['key']);
  });

  it('is an error that names it if it is empty', () => {
    writeFileSync(file, '\n');
    expect(() => textKeptIn(file, () => 'second')).toThrow(`${file} is empty`);
    expect(readFileSync(file, 'utf8')).toBe('\n');
  });
});

describe('a file that is replaced', () => {
  it('has the new text, and can be read by its owner alone, whatever a killed process left', () => {
    writeFileSync(file, 'first');
    writeFileSync(`${file}.new`, 'sec', { mode: 0o644 });
    replaceFile(file, 'second');
    expect(readFileSync(file, 'utf8')).toBe('second');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['key']);
  });
});
