import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CliError } from '../cli-error.js';

/**
 * Replaces the file as a whole: it has the old content or the new one, even after a crash. Only the user can read it
 * (mode 0600, in a directory of mode 0700).
 * @throws CliError when it cannot be written, such as on a full disk
 */
export async function writePrivateFile(path: string, content: object): Promise<void> {
  const written = `${path}.${process.pid}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeDurably(written, `${JSON.stringify(content, undefined, 2)}\n`);
    await rename(written, path);
  } catch (error) {
    await rm(written, { force: true }).catch(() => undefined);
    throw new CliError(`${path} cannot be written: ${(error as Error).message}`);
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
  try {
    // An existing file keeps its mode when it is opened.
    await file.chmod(0o600);
    await file.writeFile(text);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/**
 * Returns the object in the file; `undefined` if there is no file.
 * @throws CliError when it cannot be read, or holds something else
 */
export async function readPrivateFile(path: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CliError(`${path} cannot be read: ${(error as Error).message}`);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch {
    // The error below says it.
  }
  throw new CliError(`${path} is damaged. Delete it, and run the command again.`);
}
