import { createServer } from 'node:net';
import { ListenError, type Environment } from '#libs/runtime';

const USUAL_PORT = 3000;

/** @throws ListenError when the port cannot be taken */
async function assertFree(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => {
      reject(new ListenError(host, port, error));
    });
    probe.listen(port, host, () => {
      probe.close(() => {
        resolve();
      });
    });
  });
}

function hostOf(environment: Environment): string {
  const host = environment['HOST']?.trim() ?? '';
  return host === '' ? '127.0.0.1' : host;
}

/** @throws ListenError when the environment names a host or a port that cannot be taken */
export async function assertPortFree(environment: Environment): Promise<void> {
  await assertFree(hostOf(environment), Number(environment['PORT']?.trim() ?? ''));
}

/** Returns the configured port. Without one, it is the usual port if that is free, otherwise any. */
export async function portToTake(environment: Environment): Promise<string> {
  const wanted = environment['PORT']?.trim() ?? '';
  if (wanted !== '') return wanted;
  return assertFree(hostOf(environment), USUAL_PORT).then(
    () => String(USUAL_PORT),
    () => '0',
  );
}
