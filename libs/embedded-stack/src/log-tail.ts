import { closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs';

const TAIL_BYTES = 16 * 1024;

/** The last lines of the file; empty if there is no such file. */
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
  } finally {
    closeSync(fd);
  }
}

/** Puts a log that has grown past the limit aside as `<file>.1`, so that two files bound what logs take. */
export function rotateLog(file: string, maxBytes = 10 * 1024 * 1024): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > maxBytes) renameSync(file, `${file}.1`);
}
