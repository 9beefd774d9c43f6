import { readFile, writeFile } from 'node:fs/promises';

/**
 * Keeps a committed, generated file up to date. The script's arguments are `<file> [--check]`. It writes the text to
 * the file; with `--check`, it fails if the file differs.
 * @param args the arguments after the script's name
 */
export async function keepCommittedFile(args: readonly string[], text: string): Promise<void> {
  const [path, flag] = args;
  if (path === undefined) {
    process.stderr.write('usage: <file> [--check]\n');
    process.exitCode = 2;
  } else if (flag !== '--check') {
    await writeFile(path, text);
  } else if ((await readFile(path, 'utf8').catch(() => '')) !== text) {
    process.stderr.write(`${path} is not what the sources describe: write it again\n`);
    process.exitCode = 1;
  }
}
