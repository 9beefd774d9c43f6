import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { eventually } from '../../../test/support/infrastructure/eventually.js';
import { makePlainTopics } from '../../../test/support/topics.js';
import { DataDirInUseError, startEmbeddedStack, type EmbeddedStack } from './index.js';
import { childrenOf, identifyProcess, isAlive, type ProcessIdentity } from './processes/process-identity.js';

const topic = 'written';

let directory: string;
let dataDir: string;
let lines: string[] = [];
const running: EmbeddedStack[] = [];
const children: number[] = [];

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gapless größe 100% of ${env:HOME} '));
  dataDir = join(directory, 'restart');
});

async function stopAll(): Promise<void> {
  await Promise.all(running.splice(0).map((stack) => stack.stop()));
}

afterAll(() => {
  for (const pid of children) if (identifyProcess(pid) !== undefined) process.kill(pid, 'SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

/** Of a process of its own that can be killed. */
const ELSEWHERE = `
  import { startEmbeddedStack } from ${JSON.stringify(resolve('dist/libs/embedded-stack/src/index.js'))};
  const [dataDir] = process.argv.slice(1);
  await startEmbeddedStack({ dataDir, kafkaPort: 0, postgresPort: 0, log: () => undefined });
  console.log('up');`;

/** A Gapless in a process of its own, up. */
async function startElsewhere(dataDir: string): Promise<{ pid: number; kill: () => Promise<void> }> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', ELSEWHERE, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = child.pid!;
  children.push(pid);
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('the other process did not come up')));
  await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
  return {
    pid,
    kill: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

async function start(dataDir: string, signal?: AbortSignal): Promise<EmbeddedStack> {
  lines = [];
  const stack = await startEmbeddedStack({
    dataDir,
    kafkaPort: 0,
    postgresPort: 0,
    log: (line) => lines.push(line),
    ...(signal && { signal }),
  });
  running.push(stack);
  return stack;
}

function kafkaOf(stack: EmbeddedStack): Kafka {
  return new Kafka({ brokers: [stack.brokers], logLevel: logLevel.NOTHING });
}

async function write(stack: EmbeddedStack): Promise<void> {
  const admin = kafkaOf(stack).admin();
  await admin.connect();
  await makePlainTopics(admin, [{ topic, numPartitions: 1 }]);
  await admin.disconnect();
  const producer = kafkaOf(stack).producer();
  await producer.connect();
  await producer.send({ topic, acks: -1, messages: [{ value: 'one' }, { value: 'two' }] });
  await producer.disconnect();
  await query(stack, 'CREATE TABLE written AS SELECT 42 AS answer');
}

async function query(stack: EmbeddedStack, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: stack.databaseUrl });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function expectWritten(stack: EmbeddedStack): Promise<void> {
  const admin = kafkaOf(stack).admin();
  await admin.connect();
  const offsets = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  expect(offsets.map(({ high }) => high)).toEqual(['2']);
  expect(await query(stack, 'SELECT answer FROM written')).toEqual([{ answer: 42 }]);
}

/** The server that a pid file of the directory names. */
function serverOf(dataDir: string, file: string): ProcessIdentity {
  return (JSON.parse(readFileSync(join(dataDir, file), 'utf8')) as { server: ProcessIdentity }).server;
}

function serversOf(dataDir: string): ProcessIdentity[] {
  return ['kafka.pid', 'postgres.pid'].map((file) => serverOf(dataDir, file));
}

/** Everything below the directory that others than its owner may read, write or enter, and that they can get to. */
function openFiles(path: string): readonly string[] {
  const found = lstatSync(path);
  const isOpen = (found.mode & 0o077) !== 0;
  if (!found.isDirectory()) return isOpen ? [path] : [];
  const inside = readdirSync(path).flatMap((name) => openFiles(join(path, name)));
  return isOpen ? [path, ...inside] : inside;
}

function expectPrivate(): void {
  expect(openFiles(join(dataDir, 'kafka'))).toEqual([]);
  // The folder leads another user to the cluster: Postgres does not run as root.
  const home = join(dataDir, 'postgres');
  expect(openFiles(home).filter((path) => path !== home)).toEqual([]);
}

/** Up to where the broker knows partitions of the topic to be on the disk: what it starts from after a crash. */
function flushedOffsets(of: string): readonly number[] {
  const file = join(dataDir, 'kafka/records/recovery-point-offset-checkpoint');
  const places = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(2) : [];
  return places.filter((place) => place.startsWith(`${of} `)).map((place) => Number(place.split(' ')[2]));
}

// One story, in order: a start takes longer than most tests, so they share the servers and what is in them.
describe('embedded Kafka and Postgres', () => {
  let stack: EmbeddedStack;

  beforeAll(async () => {
    stack = await start(dataDir);
    await write(stack);
  });

  afterAll(stopAll);

  it('keep their records, tables and logs from other users of the machine', () => {
    expectPrivate();
  });

  it('listen on loopback only', async () => {
    expect(stack.brokers).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(await query(stack, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    expect(await query(stack, 'SHOW unix_socket_directories')).toEqual([{ unix_socket_directories: '' }]);
    expect(await query(stack, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
  });

  it('have records and offsets of groups on the disk soon, so that a power cut loses the last second at most', async () => {
    const admin = kafkaOf(stack).admin();
    await admin.connect();
    await eventually(() =>
      admin.setOffsets({ groupId: 'a-group', topic, partitions: [{ partition: 0, offset: '1' }] }),
    );
    await admin.disconnect();
    // Written down every 5 s, and once a minute by a broker that flushes when it likes: at the roll of a segment.
    await eventually(
      () => {
        expect(flushedOffsets(topic)).toEqual([2]);
        expect(Math.max(...flushedOffsets('__consumer_offsets'))).toBeGreaterThan(0);
      },
      { timeoutMs: 45_000, intervalMs: 200 },
    );
  });

  it('keep what was acknowledged, and their addresses, over a restart, and close what an earlier version left open', async () => {
    const servers = serversOf(dataDir);
    await stack.stop();
    await stack.stop();
    expect(servers.filter(isAlive)).toEqual([]);

    chmodSync(join(dataDir, 'kafka'), 0o755);
    chmodSync(join(dataDir, 'postgres/postgres.log'), 0o644);
    const second = await start(dataDir);
    expect({ brokers: second.brokers, url: second.databaseUrl }).toEqual({
      brokers: stack.brokers,
      url: stack.databaseUrl,
    });
    expectPrivate();
    await expectWritten(second);
  });
});

describe('embedded Kafka and Postgres at later starts', () => {
  afterEach(stopAll);

  it('go to other ports when theirs are taken by somebody else', async () => {
    const [kafkaPort, postgresPort] = ['kafka.port', 'postgres.port'].map((file) =>
      readFileSync(join(dataDir, file), 'utf8').trim(),
    );
    const taken = createServer().listen(Number(kafkaPort), '127.0.0.1');
    await once(taken, 'listening');
    try {
      const stack = await start(dataDir);
      expect(stack.brokers).not.toBe(`127.0.0.1:${kafkaPort!}`);
      expect(new URL(stack.databaseUrl).port).toBe(postgresPort);
      await expectWritten(stack);
    } finally {
      taken.close();
    }
  });

  it('refuse another Gapless while theirs is alive, and start again with all they hold once it is killed', async () => {
    const elsewhere = await startElsewhere(dataDir);
    const leftovers = serversOf(dataDir);
    const refused = await start(dataDir).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(DataDirInUseError);
    expect(String(refused)).toContain(`process ${elsewhere.pid}`);
    expect(leftovers.filter(isAlive)).toEqual(leftovers);

    await elsewhere.kill();
    expect(leftovers.filter(isAlive)).toEqual(leftovers);
    const stack = await start(dataDir);
    expect(leftovers.filter(isAlive)).toEqual([]);
    expect(lines.filter((line) => line.includes('of a killed Gapless still runs'))).toHaveLength(2);
    const servers = serversOf(dataDir);
    await expectWritten(stack);
    expect(servers.filter(isAlive)).toEqual(servers);
  });

  it('stay up after one crash after the other, whatever was killed with their owner: Kafka, or both', async () => {
    for (const files of [['kafka.pid'], ['kafka.pid', 'postgres.pid']]) {
      const elsewhere = await startElsewhere(dataDir);
      const victims = files.map((file) => serverOf(dataDir, file));
      await elsewhere.kill();
      for (const { pid } of victims) process.kill(pid, 'SIGKILL');

      const stack = await start(dataDir);
      const servers = serversOf(dataDir);
      await expectWritten(stack);
      expect(servers.filter(isAlive)).toEqual(servers);
      await running.pop()?.stop();
    }
  });

  it('start after a killed Postgres of which one process does not end', async () => {
    const elsewhere = await startElsewhere(dataDir);
    const postgres = serverOf(dataDir, 'postgres.pid');
    const [stopped] = childrenOf(postgres.pid);
    process.kill(stopped!.pid, 'SIGSTOP');
    await elsewhere.kill();
    process.kill(postgres.pid, 'SIGKILL');
    await eventually(() => {
      expect(isAlive(postgres)).toBe(false);
    });

    await expectWritten(await start(dataDir));
    expect(lines).toContainEqual(expect.stringContaining(`process ${stopped!.pid}`));
    expect(isAlive(stopped!)).toBe(false);
  });

  it('start over a lock file whose pid belongs to a stranger by now', async () => {
    writeFileSync(join(dataDir, 'postgres/cluster/postmaster.pid'), `${process.pid}\n`);
    const stranger = { pid: process.pid, started: 'in an earlier life' };
    writeFileSync(join(dataDir, 'kafka.pid'), JSON.stringify({ owner: stranger, server: stranger }));
    await expectWritten(await start(dataDir));
  });

  // Only root can give a folder to another account, and only then do the servers have one of their own.
  (process.getuid?.() === 0 ? it : it.skip)(
    'start on a folder that was copied by root, and so belongs to root',
    async () => {
      const cluster = join(dataDir, 'postgres/cluster');
      execFileSync('chown', ['-R', '0:0', cluster]);
      chmodSync(cluster, 0o755);
      await expectWritten(await start(dataDir));
    },
  );

  it('leave no process and no claim behind when the start is aborted', async () => {
    const aborted = join(directory, 'aborted');
    const abort = new AbortController();
    const starting = start(aborted, abort.signal).catch((error: unknown) => error);
    await eventually(() => {
      expect(serversOf(aborted)).not.toContain(undefined);
    });
    const servers = serversOf(aborted);
    abort.abort(new Error('changed my mind'));
    expect(await starting).toEqual(new Error('changed my mind'));
    expect(servers.filter(isAlive)).toEqual([]);
    expect(readdirSync(aborted).filter((file) => file.endsWith('.pid'))).toEqual([]);
  });

  it('show the end of the log when they die', async () => {
    const stack = await start(dataDir);
    const [kafka] = serversOf(dataDir);
    process.kill(kafka!.pid, 'SIGKILL');
    const died = await stack.died;
    expect(died.message).toMatch(/^Kafka ended with SIGKILL\n--- end of .*kafka\.log\n/);
  });

  it('say so when they die with the folder of their data', async () => {
    const stack = await start(dataDir);
    const [kafka] = serversOf(dataDir);
    const [home, gone] = [join(dataDir, 'kafka'), join(dataDir, 'gone')];
    renameSync(home, gone);
    process.kill(kafka!.pid, 'SIGKILL');
    const died = await stack.died;
    await stopAll();
    renameSync(gone, home);
    expect(died.message).toMatch(/^Kafka ended with SIGKILL\. The folder .*kafka cannot be read \(ENOENT\)/);
  });
});
