import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { logOutput } from './log-output.js';
import { createLogger, type Logger } from './logger.js';

let folder: string;
let file: string;
let logger: Logger;

beforeEach(() => {
  jest.useFakeTimers();
  folder = mkdtempSync(join(tmpdir(), 'gapless-log-'));
  file = join(folder, 'log');
  logger = createLogger('debug', 'test', logOutput(openSync(file, 'a')));
});

afterEach(() => {
  jest.useRealTimers();
  rmSync(folder, { recursive: true });
});

function written(): readonly string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
}

describe('the output of the log', () => {
  it('writes lines together, 100 ms after the first one', () => {
    logger.info('one');
    logger.debug('two');
    jest.advanceTimersByTime(99);
    expect(written()).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(written()).toEqual(['one', 'two']);
    logger.info('three');
    jest.advanceTimersByTime(100);
    expect(written()).toEqual(['one', 'two', 'three']);
  });

  it.each(['warn', 'error', 'fatal'] as const)('writes a line of level %s at once, after those that wait', (level) => {
    logger.info('one');
    logger.child({ more: 1 })[level]('two');
    expect(written()).toEqual(['one', 'two']);
  });

  it('lets few bytes wait', () => {
    for (let line = 0; line < 100; line++) logger.info({ filling: 'x'.repeat(100) }, String(line));
    expect(written().length).toBeGreaterThan(20);
    jest.advanceTimersByTime(100);
    expect(written()).toEqual(Array.from({ length: 100 }, (_, line) => String(line)));
  });

  it('has no timer while nothing waits', () => {
    logger.info('one');
    jest.advanceTimersByTime(100);
    expect(jest.getTimerCount()).toBe(0);
  });
});
