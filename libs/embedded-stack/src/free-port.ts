import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';

/** Tries to listen on the loopback port; the port it got (0 asks for any), or `undefined` when it is taken. */
function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const { port: got } = server.address() as AddressInfo;
      server.close(() => {
        resolve(got);
      });
    });
  });
}

/** The first of the wanted loopback ports that is free, else any free one. */
export async function freePort(...wanted: readonly (number | undefined)[]): Promise<number> {
  for (const port of wanted) {
    const got = port === undefined ? undefined : await tryPort(port);
    if (got !== undefined) return got;
  }
  const any = await tryPort(0);
  if (any === undefined) throw new Error('no free port on 127.0.0.1');
  return any;
}

/** Below the ports that the system hands out by itself. */
const QUIET_PORTS = { from: 20_000, to: 32_000 };
const QUIET_TRIES = 100;

/**
 * A free loopback port, the wanted one if it is: one that nobody is given by chance while its server is away. For servers
 * whose address others remember.
 * @param taken ports that are spoken for, though nobody listens on them yet
 */
export async function quietPort(wanted: number | undefined, taken: ReadonlySet<number>): Promise<number> {
  let port = wanted ?? randomInt(QUIET_PORTS.from, QUIET_PORTS.to);
  for (let tries = 0; tries < QUIET_TRIES; tries++) {
    if (!taken.has(port) && (await tryPort(port)) !== undefined) return port;
    port = randomInt(QUIET_PORTS.from, QUIET_PORTS.to);
  }
  throw new Error(`no free port from ${QUIET_PORTS.from} to ${QUIET_PORTS.to} on 127.0.0.1`);
}

/** The server lost its port to somebody between our look and its own. */
function isPortTaken(error: unknown): boolean {
  return error instanceof Error && error.message.includes('Address already in use');
}

/** Launches on the first wanted port that is free; goes to any free one if the port is taken away in that moment. */
export async function launchOnFreePort<T>(
  wanted: readonly (number | undefined)[],
  launch: (port: number) => Promise<T>,
): Promise<T> {
  try {
    return await launch(await freePort(...wanted));
  } catch (error) {
    if (!isPortTaken(error)) throw error;
    return launch(await freePort());
  }
}

/** The port of the last run, so that clients keep their address. */
export function rememberedPort(file: string): number | undefined {
  try {
    const port = Number(readFileSync(file, 'utf8'));
    return Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined;
  } catch {
    return undefined;
  }
}

export function rememberPort(file: string, port: number): void {
  writeFileSync(file, `${port}\n`);
}
