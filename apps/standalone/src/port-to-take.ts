import { createServer } from 'node:net';
import type { Environment } from '#libs/runtime';

const USUAL_PORT = 3000;

async function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => {
      resolve(false);
    });
    probe.listen(port, host, () => {
      probe.close(() => {
        resolve(true);
      });
    });
  });
}

/** Returns the configured port. Without one, it is the usual port if that is free, otherwise any. */
export async function portToTake(environment: Environment): Promise<string> {
  const wanted = environment['PORT'];
  if (wanted !== undefined) return wanted;
  return (await isFree(environment['HOST'] ?? '127.0.0.1', USUAL_PORT)) ? String(USUAL_PORT) : '0';
}
