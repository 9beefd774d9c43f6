import { isMainThread } from 'node:worker_threads';

/** The permissions that new files do not get: those of the group and of others. */
const OWNER_ONLY = 0o077;

/**
 * Starts a program whose new files only their owner can read. `begin` must start it before it returns, because a
 * program inherits the umask at its start.
 */
export function withPrivateFiles<T>(begin: () => T): T {
  // The umask applies to the whole process, and only its main thread may change it.
  if (!isMainThread) return begin();
  const before = process.umask(OWNER_ONLY);
  try {
    return begin();
  } finally {
    process.umask(before);
  }
}
