import { closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';

const TAIL_BYTES = 16 * 1024;

/** Returns the last lines of the file; empty if it cannot be read. */
export function logTail(file: string, lines = 25): string {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const { size } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
    const read = readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    return bytes.toString('utf8', 0, read).trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '';
  } finally {
    closeSync(fd);
  }
}

/** Renames a log that has grown past the limit to `<file>.1`, so that logs take two files at most. */
export function rotateLog(file: string, maxBytes = 10 * 1024 * 1024): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > maxBytes) renameSync(file, `${file}.1`);
}

/** Returns the offset of a log's next line. */
export function endOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

const MOST_BYTES = 1024 * 1024;

/**
 * Returns up to 1 MiB of the log after that offset, or from its start if it was rolled since; empty if it cannot be
 * read.
 */
export function textSince(file: string, from: number): string {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const end = fstatSync(fd).size;
    const begin = end < from ? 0 : from;
    const bytes = Buffer.alloc(Math.min(end - begin, MOST_BYTES));
    return bytes.toString('utf8', 0, readSync(fd, bytes, 0, bytes.length, begin));
  } catch {
    return '';
  } finally {
    closeSync(fd);
  }
}
