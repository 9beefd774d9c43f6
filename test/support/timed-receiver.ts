import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** A receiver that notes when each request arrives, in milliseconds. */
export interface TimedReceiver {
  readonly url: string;
  readonly arrivedAtMs: readonly number[];
  close(): Promise<void>;
}

const SERVER = `
  const { createServer } = require('node:http');
  const { parentPort, workerData } = require('node:worker_threads');
  let requests = 0;
  const server = createServer((request, response) => {
    parentPort.postMessage(performance.now());
    request.resume();
    response.writeHead(requests++ % workerData.refusesEvery === 0 ? 503 : 200).end();
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

/**
 * Starts a receiver in a thread of its own, so that nothing else in this process delays the times that it notes.
 * @param refusesEvery refuses one request of this many with 503, and the first one
 */
export async function aTimedReceiver(refusesEvery: number): Promise<TimedReceiver> {
  const worker = new Worker(SERVER, { eval: true, workerData: { refusesEvery } });
  const [port] = (await once(worker, 'message')) as [number];
  const arrivedAtMs: number[] = [];
  worker.on('message', (atMs: number) => arrivedAtMs.push(atMs));
  return {
    url: `http://127.0.0.1:${port}/hook`,
    arrivedAtMs,
    close: async () => {
      await worker.terminate();
    },
  };
}
