import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startEmbeddedKafka, type EmbeddedKafka } from '#libs/embedded-stack';
import { freePort } from './free-port.js';

/** A broker of a suite's own that comes and goes. Its address and its records stay. */
export interface PrivateKafka {
  readonly brokers: string;
  /** Where its records are; to be touched only while it is stopped. */
  readonly dataDir: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Ends it at once, as a crash does. */
  kill(): Promise<void>;
  /** Has it stand still for so long: its connections stay open, and nothing is answered. */
  stall(forMs: number): Promise<void>;
  /** Has it stand still until what is done meanwhile has ended. */
  stallDuring(act: () => Promise<unknown>): Promise<void>;
  /** Stops it for good. */
  remove(): Promise<void>;
}

/** @param runs whether it runs already, as it does by default */
export async function aPrivateKafka({ runs = true }: { readonly runs?: boolean } = {}): Promise<PrivateKafka> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gapless-kafka-'));
  // While the broker is stopped, no other server gets this port by chance.
  const port = await freePort();
  const launch = () =>
    startEmbeddedKafka({
      dataDir,
      log: () => undefined,
      port,
    });
  let running: EmbeddedKafka | undefined = runs ? await launch() : undefined;
  const brokers = running?.brokers ?? `127.0.0.1:${port}`;
  const stop = async () => {
    await running?.stop();
    running = undefined;
  };
  const signal = (name: NodeJS.Signals) => {
    const { server } = JSON.parse(readFileSync(join(dataDir, 'kafka.pid'), 'utf8')) as { server: { pid: number } };
    process.kill(server.pid, name);
  };
  const kill = async () => {
    if (running !== undefined) signal('SIGKILL');
    await stop();
  };
  const stallDuring = async (act: () => Promise<unknown>) => {
    signal('SIGSTOP');
    try {
      await act();
    } finally {
      signal('SIGCONT');
    }
  };
  return {
    brokers,
    dataDir,
    async start() {
      running ??= await launch();
      if (running.brokers !== brokers) throw new Error(`somebody took the port of ${brokers} meanwhile`);
    },
    stop,
    kill,
    stall: (forMs) => stallDuring(() => delay(forMs)),
    stallDuring,
    async remove() {
      // Its records go, too, so it need not write them.
      await kill();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
