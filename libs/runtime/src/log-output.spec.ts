import { mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LogOutput } from './log-output.js';
import { createLogger, type Logger } from './logger.js';

let folder: string;
let file: string;
let logger: Logger;

beforeEach(() => {
  jest.useFakeTimers();
  folder = mkdtempSync(join(tmpdir(), 'gapless-log-'));
  file = join(folder, 'log');
  logger = createLogger('debug', 'test', new LogOutput(openSync(file, 'a')));
});

afterEach(() => {
  jest.useRealTimers();
  rmSync(folder, { recursive: true });
});

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly lines?: number;
}

function told(): readonly Line[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Line);
}

function written(): readonly string[] {
  return told().map(({ msg }) => msg);
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

  it('keeps lines while the disk is full, and counts those that are lost', () => {
    const full = openSync('/dev/full', 'w');
    let isFull = true;
    let writes = 0;
    const output = new LogOutput(openSync(file, 'a'), (fd, bytes, from, length) => {
      writes++;
      return writeSync(isFull ? full : fd, bytes, from, length);
    });
    const other = createLogger('info', 'test', output);
    for (let line = 0; line < 1_200; line++) other.info({ filling: 'x'.repeat(1_000) }, String(line));
    other.warn('while it is full');
    jest.advanceTimersByTime(60_000);
    expect(told()).toEqual([]);
    // One for each half second, not for each line.
    expect(writes).toBeLessThan(130);
    isFull = false;
    jest.advanceTimersByTime(500);
    other.info('after it');
    jest.advanceTimersByTime(100);
    const lines = told();
    const kept = lines.slice(0, -2);
    expect(kept.map(({ msg }) => msg)).toEqual(kept.map((_, line) => String(line)));
    expect(kept.length).toBeGreaterThan(800);
    expect(lines.slice(-2)).toMatchObject([
      { level: 'warn', msg: 'log.lines_lost', lines: 1_201 - kept.length },
      { msg: 'after it' },
    ]);
  });

  it.each([90, 97, 104, 111])('goes on after a reader that was slow for a moment, after %d bytes', (most) => {
    let isBusy = true;
    const output = new LogOutput(openSync(file, 'a'), (fd, bytes, from) => {
      if (isBusy && from > most) throw Object.assign(new Error('write EAGAIN'), { code: 'EAGAIN' });
      return writeSync(fd, bytes, from, Math.min(7, bytes.length - from));
    });
    createLogger('info', 'test', output).warn('äöü€😀ß'.repeat(9));
    isBusy = false;
    jest.advanceTimersByTime(20);
    expect(written()).toEqual(['äöü€😀ß'.repeat(9)]);
  });

  it('writes whole lines, as many at once as a pipe takes without mixing them', () => {
    const pieces: string[] = [];
    const output = new LogOutput(openSync(file, 'a'), (fd, bytes, from, length) => {
      pieces.push(bytes.toString('utf8', from, from + length));
      return writeSync(fd, bytes, from, length);
    });
    const other = createLogger('info', 'test', output);
    for (let line = 0; line < 40; line++) other.info({ filling: 'ä'.repeat(line * 10) }, String(line));
    other.warn({ filling: 'x'.repeat(10_000) }, 'long');
    expect(written()).toEqual([...Array.from({ length: 40 }, (_, line) => String(line)), 'long']);
    expect(pieces.every((piece) => piece.endsWith('\n'))).toBe(true);
    expect(pieces.filter((piece) => Buffer.byteLength(piece) > 4_096)).toHaveLength(1);
  });

  it('counts the lost lines when the process ends, too', () => {
    let isBusy = true;
    const output = new LogOutput(openSync(file, 'a'), (fd, bytes, from) => {
      if (isBusy) throw Object.assign(new Error('write EAGAIN'), { code: 'EAGAIN' });
      return writeSync(fd, bytes, from);
    });
    const other = createLogger('info', 'test', output);
    for (let line = 0; line < 1_200; line++) other.info({ filling: 'x'.repeat(1_000) }, String(line));
    isBusy = false;
    output.end();
    const lines = told();
    expect(lines.at(-1)).toMatchObject({ msg: 'log.lines_lost', lines: 1_201 - lines.length });
  });

  it('waits for a slow reader when the process ends, and not for a full disk', () => {
    let tries = 0;
    const failing = (code: string, times: number) =>
      new LogOutput(openSync(file, 'a'), (fd, bytes, from) => {
        if (++tries <= times) throw Object.assign(new Error(code), { code });
        return writeSync(fd, bytes, from);
      });
    const slow = failing('EAGAIN', 3);
    createLogger('info', 'test', slow).info('last words');
    slow.end();
    expect(written()).toEqual(['last words']);
    tries = 0;
    const full = failing('ENOSPC', Infinity);
    createLogger('info', 'test', full).info('lost');
    full.end();
    expect(tries).toBe(1);
  });

  it('ends quietly once nobody reads the pipe', () => {
    let tries = 0;
    const output = new LogOutput(openSync(file, 'a'), () => {
      tries++;
      throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    });
    const other = createLogger('info', 'test', output);
    other.warn('one');
    other.warn('two');
    jest.advanceTimersByTime(10_000);
    expect(tries).toBe(1);
  });

  it('has no timer while nothing waits', () => {
    logger.info('one');
    jest.advanceTimersByTime(100);
    expect(jest.getTimerCount()).toBe(0);
  });
});
