import { features } from 'node:process';
import { QuietWatch } from './quiet-watch.js';

const LOOK_EVERY_MS = 10_000;

/**
 * Returns unused memory to the system, after the start and after busy times. An idle process would hold it, because it
 * allocates too little to trigger a collection. This blocks the thread for about 0.1 s, so its owner decides when to
 * call it.
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
    // Of all ways to request a collection, only this one also shrinks the heap.
    await new Promise<void>((resolve) => {
      session.post('HeapProfiler.collectGarbage', () => {
        resolve();
      });
    });
  } finally {
    session.disconnect();
  }
}
