import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from './run-tool.mjs';

/**
 * What npm would install: the lockfile, for this platform.
 * @param {string} root
 */
function wanted(root) {
  const lockfile = readFileSync(join(root, 'package-lock.json'));
  const platform = `${process.platform}-${process.arch}`;
  return createHash('sha256').update(lockfile).update(platform).digest('hex');
}

/** Spares the comparison the next time. */
const stampOf = (root) => join(root, 'node_modules/.gapless-lock-hash');

/**
 * Whether what npm says it installed (it keeps a lockfile of its own in node_modules, written last) is what the lockfile
 * asks for. So an install by hand counts as well.
 */
function matchesLockfile(root) {
  const installed = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(installed)) return false;
  const there = JSON.parse(readFileSync(installed, 'utf8')).packages;
  const asked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(asked).every(([path, { version, optional, devOptional }]) => {
    if (path === '') return true;
    // Of the optional ones npm takes those that are for this platform.
    if (there[path] === undefined) return Boolean(optional || devOptional);
    return there[path].version === version;
  });
}

/** @param {string} root */
export function dependenciesAreInstalled(root) {
  const stamp = stampOf(root);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted(root)) return true;
  return matchesLockfile(root) && remember(root);
}

function remember(root) {
  writeFileSync(stampOf(root), wanted(root));
  return true;
}

/** @param {string} root */
export async function installDependencies(root) {
  // Not `npm ci`: that refuses a lockfile without the builds for other platforms of which a registry has no copy. This
  // takes the lockfile's versions all the same, and leaves the file alone. The build needs the development ones too.
  await runTool('npm', ['install', '--no-save', '--include=dev', '--no-audit', '--no-fund'], {
    cwd: root,
    advice: 'Check that the npm registry can be reached, then run the command again.',
  });
  remember(root);
}
