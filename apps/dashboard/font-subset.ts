import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import subsetFont from 'subset-font';

/** Printable ASCII, and the other characters that the pages have. styles/fonts.css names the same ranges. */
const CHARACTERS = [
  ...Array.from({ length: 95 }, (_, index) => String.fromCodePoint(0x20 + index)),
  '\u00a0·×–—‘’“”…↑→↓',
];
/** The pages have no other weights. */
const WEIGHTS = { min: 400, max: 650 };

/**
 * Writes the part of Inter that the pages need nearly always: less than half of the file for Latin text. Other
 * characters come from the whole files, when there are any.
 * @returns the path of the file
 */
export async function writeFontSubset(directory: string): Promise<string> {
  const whole = fileURLToPath(import.meta.resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'));
  const bytes = await subsetFont(readFileSync(whole), CHARACTERS.join(''), {
    targetFormat: 'woff2',
    variationAxes: { wght: WEIGHTS },
  });
  const file = join(directory, 'inter-basic.woff2');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
  return file;
}
