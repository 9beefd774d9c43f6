import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from './run-tool.mjs';

/**
 * What npm would install: the lockfile, for this platform.
 * @param {string} root
 */
function wanted(root) {
  const lockfile = readFileSync(join(root, 'package-lock.json'));
  const platform = [process.platform, process.arch, libcOfThis()].join('-');
  return createHash('sha256').update(lockfile).update(platform).digest('hex');
}

/** Spares the comparison the next time. */
const stampOf = (root) => join(root, 'node_modules/.gapless-lock-hash');

/** The lockfile of what npm has installed. It writes it last. */
const installedOf = (root) => join(root, 'node_modules/.package-lock.json');

/** What npm says it installed; nothing where that cannot be read, as after a full disk. */
function installedPackages(root) {
  try {
    return JSON.parse(readFileSync(installedOf(root), 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** The C library of a Linux, as npm names it. */
function libcOfThis() {
  if (process.platform !== 'linux') return undefined;
  // Otherwise the report looks up the names of all connections.
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}

/** Whether npm has installed what the lockfile asks for. So an install by hand counts as well. */
function matchesLockfile(root) {
  const there = installedPackages(root);
  if (there === undefined) return false;
  const asked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const ours = { os: process.platform, cpu: process.arch, libc: libcOfThis() };
  // Those that name no platform may be needed by one of another platform only.
  const isForUs = ({ os, cpu, libc }) =>
    Boolean(os || cpu) &&
    Object.entries({ os, cpu, libc }).every(([what, names]) => names?.includes(ours[what]) ?? true);
  return Object.entries(asked).every(([path, wants]) => {
    if (path === '') return true;
    // Of the optional ones npm takes those that are for this platform. The folder may have been filled on another one.
    if (there[path] === undefined) return Boolean(wants.optional || wants.devOptional) && !isForUs(wants);
    return there[path].version === wants.version;
  });
}

/** @param {string} root */
export function dependenciesAreInstalled(root) {
  const stamp = stampOf(root);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted(root)) return true;
  return matchesLockfile(root) && remember(root);
}

function remember(root) {
  try {
    writeFileSync(stampOf(root), wanted(root));
  } catch {
    // Another user has installed them, who alone may write there. They are compared again the next time.
  }
  return true;
}

/** @param {string} root */
export async function installDependencies(root) {
  // Of the last install. This one may be cut short, and then another lockfile must not find its own there.
  for (const file of [stampOf(root), installedOf(root)]) rmSync(file, { force: true });
  // Not `npm ci`: that refuses a lockfile without the builds for other platforms of which a registry has no copy. This
  // takes the lockfile's versions all the same, and leaves the file alone. The build needs the development ones too, and
  // the optional ones, which are the programs for this platform.
  const included = ['--include=dev', '--include=optional'];
  // `npm run -s` silences the npm that it starts, too, and then nothing says why that failed.
  await runTool('npm', ['install', '--no-save', ...included, '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    advice: 'Check that the npm registry can be reached, then run the command again.',
  });
  remember(root);
}
