import { features } from 'node:process';

/**
 * Gives back to the system what starting has left behind: modules are compiled once, and what that took would be held
 * for as long as the process is not busy enough to collect it. The thread does nothing else for some 0.1 s, so
 * whoever owns it decides: once everything is started.
 */
export async function giveBackMemory(): Promise<void> {
  if (!features.inspector) return;
  const { Session } = await import('node:inspector');
  const session = new Session();
  session.connect();
  try {
    // Of all ways to ask for a collection, it is the one that also makes the heap smaller.
    await new Promise<void>((resolve) => {
      session.post('HeapProfiler.collectGarbage', () => {
        resolve();
      });
    });
  } finally {
    session.disconnect();
  }
}
