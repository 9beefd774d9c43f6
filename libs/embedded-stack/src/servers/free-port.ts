import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { DirectoryHeldError, PortTakenError } from './launch-errors.js';

/** Tries to listen on the loopback port (0 for any). Returns the port, or `undefined` if it is taken. */
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

/** These ports are below the system's ephemeral ports, so no outgoing connection gets one of them. */
const QUIET_PORTS = { from: 20_000, to: 32_000 };
const QUIET_TRIES = 100;

/**
 * Returns a free loopback port, the wanted one if it is free. The system does not assign such a port while its server
 * is away. Use it for servers whose clients remember the address.
 * @param taken ports that are reserved, though nothing listens on them yet
 */
export async function quietPort(wanted?: number, taken: ReadonlySet<number> = new Set()): Promise<number> {
  let port = wanted ?? randomInt(QUIET_PORTS.from, QUIET_PORTS.to);
  for (let tries = 0; tries < QUIET_TRIES; tries++) {
    if (!taken.has(port) && (await tryPort(port)) !== undefined) return port;
    port = randomInt(QUIET_PORTS.from, QUIET_PORTS.to);
  }
  throw new Error(`no free port from ${QUIET_PORTS.from} to ${QUIET_PORTS.to} on 127.0.0.1`);
}

/** The most launches. Two servers that compete for a port collide once, seldom more often. */
const LAUNCHES = 10;
/** How long a killed process may still hold its files, milliseconds. If they are held for longer, it was not killed. */
const HELD_WAIT_MS = 1000;

/**
 * Launches a server on the first wanted port that is free, otherwise on any. If another process takes the port while
 * the server starts, it is launched again on another port.
 * @param launch throws `PortTakenError` when the port is taken, `DirectoryHeldError` when the directory is in use
 */
export async function launchOnFreePort<T>(
  wanted: readonly (number | undefined)[],
  launch: (port: number) => Promise<T>,
): Promise<T> {
  const taken = new Set<number>();
  for (let launches = 1; ; launches++) {
    const port = await firstFree(wanted, taken);
    try {
      return await launch(port);
    } catch (error) {
      if (launches === LAUNCHES) throw error;
      if (error instanceof PortTakenError) taken.add(error.port ?? port);
      else if (error instanceof DirectoryHeldError) await pause(HELD_WAIT_MS);
      else throw error;
    }
  }
}

async function firstFree(wanted: readonly (number | undefined)[], taken: ReadonlySet<number>): Promise<number> {
  for (const port of wanted) {
    if (port !== undefined && port !== 0 && !taken.has(port) && (await tryPort(port)) !== undefined) return port;
  }
  return quietPort(undefined, taken);
}

/** Returns the port of the last run, so that clients keep their address. */
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
