import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runTool } from './run-tool.mjs';

const SOURCES = ['apps', 'libs', 'test/bench', 'test/faults', 'test/mutations', 'test/support'];
const SETTINGS = ['tsconfig.json', 'tsconfig.build.json', 'package-lock.json'];

/** Beside the output, so that whoever removes `dist` removes it too. */
const stampOf = (root) => join(root, 'dist/.sources');

/** Names, sizes and times of all that the output depends on. */
function fingerprint(root) {
  const hash = createHash('sha256');
  const add = (path) => {
    const { size, mtimeMs } = statSync(join(root, path));
    hash.update(`${path}\0${size}\0${mtimeMs}\n`);
  };
  SETTINGS.forEach(add);
  for (const directory of SOURCES) {
    if (!existsSync(join(root, directory))) continue;
    const files = readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1));
    files.sort().forEach(add);
  }
  return hash.digest('hex');
}

/** @param {string} root */
export function isBuilt(root) {
  const stamp = stampOf(root);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(root);
}

/**
 * Compiles all apps and libs to `dist`. Fails on a type error.
 * @param {string} root
 */
export async function build(root) {
  // Taken first: what is edited while the compiler runs is built the next time.
  const sources = fingerprint(root);
  const advice = 'These are errors in the sources: mend them, then run the command again.';
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  rmSync(stampOf(root), { force: true });
  await runTool(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, advice });
  mkdirSync(dirname(stampOf(root)), { recursive: true });
  writeFileSync(stampOf(root), sources);
}
