import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** How to run a program that refuses to run as root. */
export interface RunAs {
  /** The user who must own the program's files; absent when we are not root and it runs as we do. */
  readonly owner?: User;
  /** Options of `spawn`. */
  readonly spawn: { readonly uid?: number; readonly gid?: number };
  /** Command and arguments to put before the program's own. */
  readonly prefix: readonly string[];
}

/**
 * Says how to run a program that refuses to run as root, such as Postgres. As root we run it as the owner of its data
 * if there is one. Otherwise we use the system user `postgres`, or `nobody` if that does not exist.
 *
 * A directory on the way may be closed to that user (such as a checkout in /root). Then the program keeps the one
 * capability that ignores such permissions. It still does not run as root.
 * @param paths the paths that the user must be able to reach; missing ones are ignored
 */
export function runAsNonRoot(dataOwner: number | undefined, paths: readonly string[]): RunAs {
  if (process.getuid?.() !== 0) return { spawn: {}, prefix: [] };
  const user = nonRootUser(dataOwner);
  if (paths.every((path) => canReach(user, path))) return { owner: user, spawn: user, prefix: [] };
  const keep = ['--bounding-set=-all,+dac_override', '--inh-caps=-all,+dac_override', '--ambient-caps=+dac_override'];
  // Without that bit, access(2) ignores the capability, and Postgres uses access(2) to find its own files.
  const identity = ['--securebits=+no_setuid_fixup', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  return { owner: user, spawn: {}, prefix: ['setpriv', ...identity, ...keep] };
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

function nonRootUser(dataOwner: number | undefined): User {
  if (dataOwner !== undefined && dataOwner !== 0)
    return lookUp(String(dataOwner)) ?? { uid: dataOwner, gid: dataOwner };
  const user = lookUp('postgres') ?? lookUp('nobody');
  if (user === undefined) {
    throw new Error(
      'Postgres refuses to run as root, and there is neither a user "postgres" nor "nobody" to run it as. ' +
        'Run Gapless as an ordinary user, or set DATABASE_URL to a Postgres of your own.',
    );
  }
  return user;
}

function lookUp(name: string): User | undefined {
  try {
    const id = (flag: string): number => Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined;
  }
}

/** Whether the user may pass every directory of the path. */
function canReach(user: User, path: string): boolean {
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    const stat = statSync(directory, { throwIfNoEntry: false });
    if (stat !== undefined) {
      const search = stat.uid === user.uid ? 0o100 : stat.gid === user.gid ? 0o010 : 0o001;
      if ((stat.mode & search) === 0) return false;
    }
    if (directory === dirname(directory)) return true;
  }
}
