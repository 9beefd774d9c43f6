import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runs } from './alone.mjs';

/**
 * Makes a folder in the cache for work that is moved elsewhere once it is whole. Removes those of the same kind whose
 * processes were cut short.
 * @param {string} cache
 * @param {string} kind
 */
export function makeDraft(cache, kind) {
  mkdirSync(cache, { recursive: true });
  for (const name of readdirSync(cache).filter((each) => each.startsWith(`${kind}-`))) {
    const pid = Number(name.slice(kind.length + 1));
    if (pid === process.pid || !runs(pid)) rmSync(join(cache, name), { recursive: true, force: true });
  }
  // Readable to all: the user who runs Gapless need not be the one who made it.
  const draft = join(cache, `${kind}-${process.pid}`);
  mkdirSync(draft, { mode: 0o755 });
  return draft;
}
