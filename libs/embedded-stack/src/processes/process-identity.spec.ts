import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { identifyProcess, isAlive } from './process-identity.js';

let directory: string;
const { platform } = process;
const { PATH, TZ } = process.env;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-ps-'));
  writeFileSync(join(directory, 'ps'), '#!/bin/sh\necho "S in ${TZ:-local time}"\n');
  chmodSync(join(directory, 'ps'), 0o755);
  process.env['PATH'] = `${directory}:${PATH ?? ''}`;
  process.env['TZ'] = 'Europe/Berlin';
  Object.defineProperty(process, 'platform', { value: 'darwin' });
});

afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform });
  process.env['PATH'] = PATH;
  if (TZ === undefined) delete process.env['TZ'];
  else process.env['TZ'] = TZ;
  rmSync(directory, { recursive: true, force: true });
});

describe('identifyProcess', () => {
  it('asks ps for the start time in UTC, so that a change of the time zone leaves it alone', () => {
    expect(identifyProcess(4711)).toEqual({ pid: 4711, started: 'in UTC' });
  });
});

describe('isAlive', () => {
  it.each([
    ['in UTC', true],
    ['in local time', true],
    ['at another time', false],
  ])('recognizes a process by its start %s: %s', (started, expected) => {
    expect(isAlive({ pid: 4711, started })).toBe(expected);
  });
});
