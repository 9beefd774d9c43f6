import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#libs/embedded-stack';
import { childPidsOf } from '../child-pids.js';
import { eventually } from './eventually.js';

/** A standby that replays the log of the primary. */
export interface Standby {
  readonly url: string;
  readonly server: EmbeddedPostgres;
  /** Stops the replay, or lets it go on. What the standby has it still serves. */
  pauseReplay(isPaused: boolean): Promise<void>;
  /** Freezes its processes by SIGSTOP, or lets them go on. */
  freeze(isFrozen: boolean): void;
  /** Makes it a primary of its own. */
  promote(): Promise<void>;
}

/** A Postgres of the suite's own, with standbys. */
export interface ReplicatedPostgres {
  readonly primary: EmbeddedPostgres;
  addStandby(): Promise<Standby>;
  stop(): Promise<void>;
}

export async function aReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const home = mkdtempSync(join(tmpdir(), 'gapless-replicated-'));
  const start = (name: string, settings: Readonly<Record<string, string | number>>, port = 0) =>
    startEmbeddedPostgres({
      dataDir: join(home, name),
      log: () => undefined,
      port,
      durable: false,
      settings: { wal_level: 'replica', max_wal_senders: 8, wal_keep_size: '1GB', ...settings },
    });
  // A copy of a stopped server is the beginning of each standby.
  const draft = await start('primary', {});
  await draft.stop();
  copy(join(home, 'primary/postgres'), join(home, 'base'));
  const primary = await start('primary', {}, Number(new URL(draft.url).port));
  const { hostname, port, username, password } = new URL(primary.url);
  const source = `host=${hostname} port=${port} user=${username} password=${password}`;
  const standbys: Standby[] = [];
  return {
    primary,
    async addStandby() {
      const name = `standby-${standbys.length}`;
      mkdirSync(join(home, name));
      copy(join(home, 'base'), join(home, name, 'postgres'));
      writeFileSync(join(home, name, 'postgres/cluster/standby.signal'), '');
      const server = await start(name, {
        primary_conninfo: source,
        wal_retrieve_retry_interval: '100ms',
        // A query that the replay waits for is cancelled after this.
        max_standby_streaming_delay: '500ms',
      });
      const standby = standbyOf(server);
      standbys.push(standby);
      return standby;
    },
    async stop() {
      for (const standby of standbys) standby.freeze(false);
      await Promise.all([primary, ...standbys.map(({ server }) => server)].map((server) => server.stop()));
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function standbyOf(server: EmbeddedPostgres): Standby {
  const { url, pid = 0 } = server;
  const run = async (sql: string): Promise<readonly unknown[]> => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    url,
    server,
    async pauseReplay(isPaused) {
      // A standby cancels any statement that its replay waits for.
      await eventually(() => run(`select pg_wal_replay_${isPaused ? 'pause' : 'resume'}()`));
      if (!isPaused) return;
      // It replays the present record to its end.
      await eventually(async () => {
        const [row] = await run('select pg_get_wal_replay_pause_state() as state');
        if ((row as { state: string }).state !== 'paused') throw new Error('the replay goes on');
      });
    },
    freeze(isFrozen) {
      for (const each of [pid, ...childPidsOf(pid)]) {
        try {
          process.kill(each, isFrozen ? 'SIGSTOP' : 'SIGCONT');
        } catch {
          // It has ended meanwhile.
        }
      }
    },
    async promote() {
      await run('select pg_promote()');
    },
  };
}

/** Keeps owners: Postgres refuses files of others. */
function copy(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}
