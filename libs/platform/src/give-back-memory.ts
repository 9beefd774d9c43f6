import { features } from 'node:process';
import { QuietWatch } from './quiet-watch.js';

const LOOK_EVERY_MS = 10_000;

/**
 * Gives back to the system what starting has left behind, and later what each busy time has: a process that is not busy
 * would hold it, since it allocates too little to collect it. The thread does nothing else for about 0.1 s, so its
 * owner decides when: once everything is started.
 */
export async function giveBackMemory(): Promise<void> {
  await collect();
  const watch = new QuietWatch();
  let [usage, at] = [process.cpuUsage(), performance.now()];
  setInterval(() => {
    const { user, system } = process.cpuUsage(usage);
    const elapsedMs = performance.now() - at;
    usage = process.cpuUsage();
    at += elapsedMs;
    if (watch.look((user + system) / 1_000, elapsedMs)) void collect();
  }, LOOK_EVERY_MS).unref();
}

async function collect(): Promise<void> {
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
