import { isMainThread } from 'node:worker_threads';

/** The permissions that files do not get: those of the group and of others. */
const OWNER_ONLY = 0o077;

/**
 * Begins a program whose files only their owner may read. A program takes this over when it begins, so `begin` has to
 * begin it before it returns.
 */
export function withPrivateFiles<T>(begin: () => T): T {
  // The setting belongs to the whole process, and only its main thread may change it.
  if (!isMainThread) return begin();
  const before = process.umask(OWNER_ONLY);
  try {
    return begin();
  } finally {
    process.umask(before);
  }
}
