import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { textKeptIn } from '#libs/runtime';
import { endProcess, type StopSteps } from '../processes/end-process.js';
import { whoAnswersPostgres } from './postgres-probe.js';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.js';
import { commandLineOf, identifyProcess, processesIn } from '../processes/process-identity.js';
import { runAsNonRoot, type RunAs } from '../processes/run-as.js';
import { runServer, type RunProgram } from '../servers/run-server.js';
import { serverEnvironment } from '../servers/server-process.js';

export interface EmbeddedPostgres {
  readonly pid: number | undefined;
  /** `postgres://gapless:<password>@127.0.0.1:<port>/gapless`; the user is the superuser. */
  readonly url: string;
  /** Resolves with the reason when the server ends without `stop`. */
  readonly died: Promise<Error>;
  /** Stops the server, by force after 6 s. You can call it repeatedly. */
  readonly stop: () => Promise<void>;
  /** Kills the server and its sessions, like a crash. The next start recovers committed data. */
  readonly kill: () => Promise<void>;
}

const DEFAULT_PORT = 5432;
const DATABASE = 'gapless';
const USER = 'gapless';
const POSTGRES_ENVIRONMENT = { ...serverEnvironment(), LC_ALL: 'C' };
/** A fast shutdown, then an immediate one, which leaves no child process. The next start recovers as after a crash. */
export const POSTGRES_STOP_STEPS: StopSteps = [
  { signal: 'SIGINT', waitMs: 5000 },
  { signal: 'SIGQUIT', waitMs: 1000 },
  { signal: 'SIGKILL', waitMs: 2000 },
];

/**
 * Runs PostgreSQL under `<dataDir>/postgres`, on loopback. It uses `port` (5432) if that is free, otherwise a free
 * port, which the next run uses again. It generates the password once and stores it in a file that only the owner can
 * read. It first stops a server that a killed Gapless left behind.
 * @throws DataDirInUseError when another running Gapless uses the directory
 * @throws Error with the end of the server's log when it does not start; the signal's reason when aborted
 */
export async function startEmbeddedPostgres(o: {
  readonly dataDir: string;
  readonly log: (line: string) => void;
  readonly signal?: AbortSignal;
  /** The preferred port; 0 for any free one. */
  readonly port?: number;
  /** Whether commits survive a crash of the machine (default true); tests set it to false. */
  readonly durable?: boolean;
  /** Settings of the server besides the usual ones, such as those for replication; for tests. */
  readonly settings?: Readonly<Record<string, string | number>>;
}): Promise<EmbeddedPostgres> {
  const dataDir = resolve(o.dataDir);
  const home = join(dataDir, 'postgres');
  const cluster = join(home, 'cluster');
  const logFile = join(home, 'postgres.log');
  const durable = o.durable ?? true;
  const binaries = findPostgresBinaries();
  const runAs = runAsNonRoot(statSync(cluster, { throwIfNoEntry: false })?.uid, [
    join(cluster, 'base'),
    binaries.postgres,
  ]);
  let password = '';
  const urlOf = (port: number, database: string): string =>
    `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`;

  const { pid, port, died, stop, kill } = await runServer({
    name: 'Postgres',
    dataDir,
    home,
    port: o.port ?? DEFAULT_PORT,
    stopSteps: POSTGRES_STOP_STEPS,
    log: o.log,
    signal: o.signal,
    prepare: async (run) => {
      password = textKeptIn(join(home, 'password'), () => randomBytes(24).toString('hex'));
      if (existsSync(cluster)) {
        await clearLeftovers(cluster, o.log);
        giveToOwner(cluster, runAs);
      } else await initialise({ home, cluster, logFile, password, binaries, runAs, durable, run });
    },
    commandFor: (port) => {
      const settings = Object.entries({ ...postgresSettings(port, durable), ...o.settings });
      const flags = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
      const [command, ...args] = [...runAs.prefix, binaries.postgres, '-D', cluster, ...flags];
      return Promise.resolve({
        name: 'Postgres',
        command: command ?? binaries.postgres,
        args,
        env: POSTGRES_ENVIRONMENT,
        cwd: '/',
        ...runAs.spawn,
        outputFile: logFile,
        logFile,
      });
    },
    whoAnswers: (port, pid) =>
      whoAnswersPostgres({ pid, port, cluster, adminUrl: urlOf(port, 'postgres'), database: DATABASE }),
  });
  return { pid, url: urlOf(port, DATABASE), died, stop, kill };
}

/** A copy that root has made belongs to root, and Postgres runs on its own user's files only. */
function giveToOwner(cluster: string, { owner }: RunAs): void {
  if (owner === undefined || statSync(cluster).uid === owner.uid) return;
  const path = realpathSync(cluster);
  execFileSync('chown', ['-Rh', `${owner.uid}:${owner.gid}`, path], { stdio: 'pipe' });
  chmodSync(path, 0o700);
}

/**
 * Makes the cluster's directory under a temporary name and renames it at the end. So an interrupted run is started
 * over.
 */
async function initialise(o: {
  readonly home: string;
  readonly cluster: string;
  readonly password: string;
  readonly binaries: PostgresBinaries;
  readonly runAs: RunAs;
  readonly durable: boolean;
  readonly logFile: string;
  readonly run: RunProgram;
}): Promise<void> {
  const { logFile } = o;
  const { prefix, owner, spawn } = o.runAs;
  const draft = join(o.home, 'cluster.new');
  const passwordFile = join(o.home, 'password.initdb');
  // Helpers of an initdb that was killed may still write for a moment.
  rmSync(draft, { recursive: true, force: true, maxRetries: 10 });
  mkdirSync(draft, { mode: 0o700 });
  writeFileSync(passwordFile, o.password, { mode: 0o600 });
  if (owner !== undefined) for (const path of [draft, passwordFile]) chownSync(path, owner.uid, owner.gid);
  const account = ['--username', USER, '--pwfile', passwordFile, '--auth', 'scram-sha-256'];
  const flags = ['--encoding', 'UTF8', '--locale', 'C', ...(o.durable ? [] : ['--no-sync'])];
  const [command = '', ...args] = [...prefix, o.binaries.initdb, '--pgdata', draft, ...account, ...flags];
  const how = { env: POSTGRES_ENVIRONMENT, cwd: '/', ...spawn, outputFile: logFile, logFile };
  try {
    await o.run({ name: `initdb for ${o.cluster}`, command, args, ...how });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, o.cluster);
}

function postgresSettings(port: number, durable: boolean): Record<string, string | number> {
  return {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    shared_buffers: '256MB',
    // This server has no replicas, so its log is needed for recovery only.
    wal_level: 'minimal',
    max_wal_senders: 0,
    fsync: durable ? 'on' : 'off',
    full_page_writes: durable ? 'on' : 'off',
    synchronous_commit: durable ? 'on' : 'off',
    // Queries here are short: compiling one would take longer than running it.
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] %q%d ',
  };
}

/**
 * Ends what a killed server left running. We hold the claim on the directory, so a server on it is a leftover.
 *
 * The other processes of a killed server end by themselves, unless they are stopped or wait for a lock of one that was
 * killed. Postgres does not start while they are there.
 */
async function clearLeftovers(cluster: string, log: (line: string) => void): Promise<void> {
  await clearStaleLock(cluster, log);
  const left = processesIn(cluster).filter(({ pid }) => commandLineOf(pid).startsWith('postgres:'));
  if (left.length === 0) return;
  log(
    `Parts of a killed Postgres still run (${left.map(({ pid }) => `process ${pid}`).join(', ')}); ending them first`,
  );
  await Promise.all(left.map((process) => endProcess(process, [{ signal: 'SIGKILL', waitMs: 2000 }])));
}

/**
 * Removes a stale lock file. Postgres takes any live process with the pid of its lock file for a running server, even an
 * unrelated one.
 */
async function clearStaleLock(cluster: string, log: (line: string) => void): Promise<void> {
  const lockFile = join(cluster, 'postmaster.pid');
  if (!existsSync(lockFile)) return;
  const holder = identifyProcess(Number(readFileSync(lockFile, 'utf8').split('\n')[0]));
  if (holder !== undefined && commandLineOf(holder.pid).includes(`-D ${cluster} `)) {
    log(`Postgres of a killed Gapless still runs (process ${holder.pid}); stopping it first`);
    await endProcess(holder, POSTGRES_STOP_STEPS);
  }
  rmSync(lockFile, { force: true });
}
