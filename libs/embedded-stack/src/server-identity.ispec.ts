import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { Client } from 'pg';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { quietPort, startEmbeddedStack, type EmbeddedStack } from './index.js';
import { isAlive, type ProcessIdentity } from './processes/process-identity.js';

/** On a busy machine a broker takes its time. */
const TIMEOUT_MS = 240_000;

let directory: string;
const running: EmbeddedStack[] = [];
const doors: Server[] = [];

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-identity-'));
});

afterEach(() => {
  for (const door of doors.splice(0)) door.close();
});

afterAll(async () => {
  await Promise.all(running.map((stack) => stack.stop()));
  rmSync(directory, { recursive: true, force: true });
}, TIMEOUT_MS);

async function start(name: string, ports: { kafkaPort: number; postgresPort: number }): Promise<EmbeddedStack> {
  const dataDir = join(directory, name);
  const stack = await startEmbeddedStack({ dataDir, ...ports, log: () => undefined, durable: false });
  running.push(stack);
  return stack;
}

async function freePorts(): Promise<{ kafkaPort: number; postgresPort: number }> {
  return { kafkaPort: await quietPort(), postgresPort: await quietPort() };
}

function serverOf(name: string, file: 'kafka.pid' | 'postgres.pid'): ProcessIdentity | undefined {
  const path = join(directory, name, file);
  if (!existsSync(path)) return undefined;
  return (JSON.parse(readFileSync(path, 'utf8')) as { server?: ProcessIdentity }).server;
}

/** Which installation answers: the cluster id of the broker, and the number of the Postgres system. */
async function whoAnswers(stack: EmbeddedStack): Promise<{ kafka: string; postgres: string }> {
  const admin = new Kafka({ brokers: [stack.brokers], logLevel: logLevel.NOTHING }).admin();
  const client = new Client({ connectionString: stack.databaseUrl });
  await Promise.all([admin.connect(), client.connect()]);
  try {
    const { clusterId } = await admin.describeCluster();
    const { rows } = await client.query<{ id: string }>(
      'select system_identifier::text as id from pg_control_system()',
    );
    return { kafka: clusterId, postgres: rows[0]!.id };
  } finally {
    await Promise.all([admin.disconnect(), client.end()]);
  }
}

/** Listens on the port and passes everything on to a server of another installation. */
async function leadTo(port: number, server: { readonly hostname: string; readonly port: string }): Promise<void> {
  const door = createServer((client) => {
    const target = connect(Number(server.port), server.hostname);
    for (const socket of [client, target]) socket.on('error', () => undefined);
    client.pipe(target).pipe(client);
    client.on('close', () => target.destroy());
    target.on('close', () => client.destroy());
  }).listen(port, '127.0.0.1');
  doors.push(door);
  await once(door, 'listening');
}

/** Takes the ports of a start between its look at them, which finds them free, and the moment its servers ask for them. */
async function takePortsOf(name: string, ports: { kafkaPort: number; postgresPort: number }, other: EmbeddedStack) {
  await Promise.all([
    eventually(() => {
      expect(serverOf(name, 'kafka.pid')).toBeDefined();
    }).then(() => leadTo(ports.kafkaPort, new URL(`kafka://${other.brokers}`))),
    // The directory is prepared first; the look at the port comes after that.
    eventually(
      () => {
        expect(serverOf(name, 'postgres.pid')).toBeDefined();
      },
      { timeoutMs: 60_000, intervalMs: 1 },
    )
      .then(() => leadTo(ports.postgresPort, new URL(other.databaseUrl)))
      // It was faster than we are; then there is nobody to be mistaken for it.
      .catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'EADDRINUSE' });
      }),
  ]);
}

// One story, in order: each start takes seconds.
describe('embedded servers', () => {
  let other: EmbeddedStack;
  let late: EmbeddedStack;

  it(
    'of three starts at the same moment, which all want the same ports, are of three separate installations',
    async () => {
      const ports = await freePorts();
      const names = ['one', 'two', 'three'];
      const stacks = await Promise.all(names.map((name) => start(name, ports)));
      other = stacks[0]!;
      expect(new Set(stacks.map(({ brokers }) => brokers)).size).toBe(3);
      expect(new Set(stacks.map(({ databaseUrl }) => new URL(databaseUrl).port)).size).toBe(3);
      const answers = await Promise.all(stacks.map(whoAnswers));
      expect(new Set(answers.map(({ kafka }) => kafka)).size).toBe(3);
      expect(new Set(answers.map(({ postgres }) => postgres)).size).toBe(3);
      for (const name of names) {
        expect(isAlive(serverOf(name, 'kafka.pid')!)).toBe(true);
        expect(isAlive(serverOf(name, 'postgres.pid')!)).toBe(true);
      }
      await Promise.all(stacks.slice(1).map((stack) => stack.stop()));
    },
    TIMEOUT_MS,
  );

  it(
    'are not mistaken for those of another installation that took their ports in the meantime',
    async () => {
      const ports = await freePorts();
      const starting = start('late', ports);
      starting.catch(() => undefined);
      await takePortsOf('late', ports, other);
      late = await starting;
      expect(late.brokers).not.toBe(`127.0.0.1:${ports.kafkaPort}`);
      const [answers, others] = await Promise.all([whoAnswers(late), whoAnswers(other)]);
      expect(answers.kafka).not.toBe(others.kafka);
      expect(answers.postgres).not.toBe(others.postgres);
      expect(isAlive(serverOf('late', 'kafka.pid')!)).toBe(true);
    },
    TIMEOUT_MS,
  );

  it(
    'that are restarted after a crash stay up, though another installation has taken their port',
    async () => {
      const before = await whoAnswers(late);
      process.kill(serverOf('late', 'kafka.pid')!.pid, 'SIGKILL');
      await late.died;
      await late.stop();

      // The broker asks for its port when its controller has given up the one before, seconds after its start.
      const starting = start('late', { kafkaPort: 0, postgresPort: 0 });
      starting.catch(() => undefined);
      await eventually(() => {
        expect(serverOf('late', 'kafka.pid')).toBeDefined();
      });
      await leadTo(Number(late.brokers.split(':')[1]), new URL(`kafka://${other.brokers}`));
      const again = await starting;
      expect(await whoAnswers(again)).toEqual(before);
      expect(again.brokers).not.toBe(late.brokers);
    },
    TIMEOUT_MS,
  );
});
