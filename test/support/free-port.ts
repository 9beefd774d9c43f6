import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ports that the system hands out by itself, and below those of embedded servers. Each worker of jest has a
 * part of its own, so that nobody takes a port before the process that it is for listens on it. The workers of another
 * run on the same machine have another parent, and so usually other parts.
 */
const FIRST = 10_000;
const EACH = 100;
const WORKERS = 10;
const RUNS = 10;

const worker = Number(process.env['JEST_WORKER_ID'] ?? 0) % WORKERS;
const first = FIRST + EACH * (WORKERS * (process.ppid % RUNS) + worker);
let next = randomInt(EACH);

/** Returns a loopback port that nobody listens on, another one with each call: for a process that gets its port before it starts. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < EACH; tries++) {
    const port = first + next;
    next = (next + 1) % EACH;
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port from ${first} to ${first + EACH - 1} on 127.0.0.1`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => {
      resolve(false);
    });
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}
