import { parentPort, workerData } from 'node:worker_threads';
import { foldInThread } from './fold-thread.js';
import type { FoldOrder } from './fold-threads.js';

await foldInThread(workerData as FoldOrder, (message) => {
  parentPort?.postMessage(message);
});
