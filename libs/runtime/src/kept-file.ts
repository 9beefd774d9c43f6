import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * Returns the text of a file that is made once, and that only its owner can read. Even after a power cut, the file has
 * all of its text or does not exist.
 * @param make returns the text of a new file
 * @throws Error that names the file, if it is empty
 */
export function textKeptIn(file: string, make: () => string): string {
  if (!existsSync(file)) replaceFile(file, make());
  const text = readFileSync(file, 'utf8').trim();
  if (text === '') {
    throw new Error(
      `${file} is empty. Restore it. If nothing was stored yet, delete ${dirname(file)} and start again.`,
    );
  }
  return text;
}

/**
 * Writes a file that only its owner can read. Even after a power cut, the file has all of the earlier text or all of
 * the new one.
 */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.new`;
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  // An earlier draft keeps its mode.
  chmodSync(draft, 0o600);
  renameSync(draft, file);
  flushDirectory(dirname(file));
}

/** Until then, a power cut may take the new name away. */
function flushDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
