import { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Client, Pool } from 'pg';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { InstallationRow } from '#libs/domain';
import { createLogger } from '#libs/runtime';
import { aDatabaseLogin } from '../../../../test/support/database-login.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { aStore } from '../../../../test/support/store.js';
import { aTcpProxy } from '../../../../test/support/tcp-proxy.js';
import { HeadNotifications } from '../feed/head-notifications.js';
import { InstallationRows } from './installation-row.js';
import { CommitLostError, isPostgresAway, OtherDatabaseError } from './postgres-away.js';
import { PostgresProbe } from './postgres-probe.js';
import { Store } from './store.js';
import { aTestStore } from '../testing/a-test-store.js';

/** Of a query that nobody waits for any longer; the server goes on with it. */
const QUERY_TIMEOUT_MS = 300;
/** The server is done with it after that. */
const TAKES_SECONDS = 0.8;

const INSTALLATION: InstallationRow = {
  id: '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001',
  kafkaClusterId: 'cluster',
  topicPrefix: 'gapless',
  partitions: 1,
  createdAt: '2026-03-02T09:00:00.000Z',
  announced: true,
};

let shared: Awaited<ReturnType<typeof aTestStore>>;
let store: Store;
/** Its queries have little time, and so has what a busy machine does for them. */
let impatient: Store;

beforeAll(async () => {
  shared = await aTestStore();
  await shared.store.query('create table notes (text text not null)');
  store = aStore(shared.url);
  impatient = new Store({
    databaseUrl: shared.url,
    applicationName: 'impatient',
    logger: createLogger('silent', 'test'),
    migratesWhenOpened: false,
    queryTimeoutMs: QUERY_TIMEOUT_MS,
  });
  for (const opened of [store, impatient]) await opened.open(() => undefined);
});

beforeEach(() => shared.store.query('truncate notes'));

afterAll(async () => {
  for (const opened of [store, impatient]) await opened.close();
  await shared.drop();
});

function unmigratedStoreOf(databaseUrl: string): Store {
  const logger = createLogger('silent', 'test');
  return new Store({ databaseUrl, applicationName: 'test', logger, migratesWhenOpened: false });
}

async function notes(): Promise<readonly string[]> {
  const rows = await shared.store.query<{ text: string }>('select text from notes order by text');
  return rows.map(({ text }) => text);
}

describe('a new connection', () => {
  it('is refused by a database of another installation, which may be in place of the own one', async () => {
    const own = new Store({
      databaseUrl: shared.url,
      applicationName: 'replaced',
      logger: createLogger('silent', 'test'),
      migratesWhenOpened: false,
    });
    await own.open(() => undefined);
    const lose = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'replaced'`;
    const write = () => own.query(`insert into notes values ('written')`);
    own.belongsTo(INSTALLATION.id);
    for (const id of [null, 'a1b2c3d4-51d4-4bd9-9d0b-7a0ac8c5a001']) {
      if (id !== null)
        await new InstallationRows(shared.store).create({ ...INSTALLATION, id }, { place: 0, places: 1 });
      await shared.store.query(lose);
      await eventually(async () => {
        await expect(write()).rejects.toThrow(OtherDatabaseError);
      });
      expect(isPostgresAway(await write().catch((error: unknown) => error))).toBe(true);
    }
    expect(await notes()).toEqual([]);
    await shared.store.query(`with changed as (update installation set id = '${INSTALLATION.id}') select 1`);
    await write();
    expect(await notes()).toEqual(['written']);
    await shared.store.query('with gone as (delete from installation) select 1');
    await own.close();
  });
});

/** Waits until the server has nothing to do for the store. */
async function settled(): Promise<void> {
  await eventually(async () => {
    const busy = await shared.store.query(
      `select from pg_stat_activity where application_name = 'impatient' and state <> 'idle'`,
    );
    expect(busy).toHaveLength(0);
  });
}

describe('a transaction that was given up while the server still worked on it', () => {
  it('leaves nothing that the next transaction could commit', async () => {
    const givenUp = impatient.transaction((runner) =>
      runner.query(`with slow as (select pg_sleep(${TAKES_SECONDS})) insert into notes select 'given up' from slow`),
    );
    await expect(givenUp).rejects.toThrow('Query read timeout');
    await eventually(() => impatient.transaction((runner) => runner.query(`insert into notes values ('next')`)));
    await settled();
    // It is there twice if only its answer came too late.
    expect(new Set(await notes())).toEqual(new Set(['next']));
  });

  it('leaves no transaction open in which a single statement would get lost', async () => {
    const givenUp = impatient.transaction((runner) => runner.query(`select pg_sleep(${TAKES_SECONDS})`));
    await expect(givenUp).rejects.toThrow('Query read timeout');
    await eventually(() => impatient.query(`insert into notes values ('alone')`));
    await settled();
    expect(new Set(await notes())).toEqual(new Set(['alone']));
  });
});

describe('a read of an organization that was given up', () => {
  it('does not wait for the server again', async () => {
    const queryTimeoutMs = 4_000;
    const logger = createLogger('silent', 'test');
    const options = { databaseUrl: shared.url, applicationName: 'reads', logger, migratesWhenOpened: false };
    const reads = new Store({ ...options, queryTimeoutMs });
    await reads.open(() => undefined);
    const read = (name: string, sql: string) => reads.preparedForOrg(anOrgId(), name, sql, []);
    try {
      let tookMs = Infinity;
      // A busy machine may stand still in one of them; a read that waits for the server again takes longer in all.
      for (let tries = 0; tries < 3 && tookMs >= 2 * queryTimeoutMs; tries++) {
        expect(await eventually(() => read('quick', 'select 1 as one'))).toEqual([{ one: 1 }]);
        const beganMs = performance.now();
        await expect(read('slow', 'select pg_sleep(10)')).rejects.toThrow('Query read timeout');
        tookMs = performance.now() - beganMs;
      }
      expect(tookMs).toBeLessThan(2 * queryTimeoutMs);
    } finally {
      await reads.close();
    }
  });
});

describe('a commit that the server does not confirm', () => {
  it('leaves it unknown whether there was a change, and counts as away', async () => {
    const way = await aTcpProxy(shared.url);
    await way.open();
    const far = new Store({
      databaseUrl: way.url,
      applicationName: 'far',
      logger: createLogger('silent', 'test'),
      migratesWhenOpened: false,
      queryTimeoutMs: 2_000,
    });
    await far.open(() => undefined);
    try {
      const lost: unknown = await far
        .transaction(async (runner) => {
          await runner.query(`insert into notes values ('perhaps')`);
          way.freeze();
        })
        .catch((error: unknown) => error);
      expect(lost).toBeInstanceOf(CommitLostError);
      expect(isPostgresAway(lost)).toBe(true);
    } finally {
      await way.close();
      await far.close();
    }
  });
});

describe('a connection that is lost while it is lent', () => {
  it.each(['select 1', 'commit'])('counts as away for the next statement, here %s, which was not sent', async (sql) => {
    const lost: unknown = await store
      .transaction(async (runner) => {
        const [own] = (await runner.query('select pg_backend_pid() as pid')) as { pid: number }[];
        await shared.store.query('select pg_terminate_backend($1, 5000)', [own!.pid]);
        await eventually(() => {
          expect(runner.isReleased).toBe(true);
        });
        if (sql !== 'commit') await runner.query(sql);
      })
      .catch((error: unknown) => error);
    expect(lost).toMatchObject({ name: 'QueryRunnerAlreadyReleasedError' });
    expect(isPostgresAway(lost)).toBe(true);
  });

  it('has a listener for errors, so that the process does not end', async () => {
    const pool = (store.dataSource.driver as PostgresDriver).master as Pool;
    const listeners: number[] = [];
    const look = (client: Client) => {
      setImmediate(() => listeners.push(client.listenerCount('error')));
    };
    pool.on('acquire', look);
    await store.preparedForOrg(anOrgId(), 'look', 'select pg_sleep(0.05)', []);
    await store.transaction((runner) => runner.query('select pg_sleep(0.05)'));
    await store.query('select pg_sleep(0.05)');
    pool.off('acquire', look);
    expect(listeners).toHaveLength(3);
    expect(Math.min(...listeners)).toBeGreaterThan(0);
  });
});

describe('a connection', () => {
  const MODE = `select current_setting('plan_cache_mode') as mode, pg_backend_pid() as pid`;
  interface Mode {
    readonly mode: string;
    readonly pid: number;
  }

  it('plans prepared statements once, and others for their parameters', async () => {
    const inTransaction = () => store.transaction((runner) => runner.query(MODE) as Promise<Mode[]>);
    const modes = [
      ...(await store.prepared<Mode>('mode', MODE, [])),
      ...(await inTransaction()),
      ...(await store.prepared<Mode>('mode', MODE, [])),
      ...(await store.prepared<Mode>('mode', MODE, [])),
      ...(await store.query<Mode>(MODE)),
    ];
    expect(modes.map(({ mode }) => mode)).toEqual([
      'force_generic_plan',
      'auto',
      'force_generic_plan',
      'force_generic_plan',
      'auto',
    ]);
    expect(new Set(modes.map(({ pid }) => pid)).size).toBe(1);
  });
});

describe('a connection whose prepared statements were dropped, as poolers do', () => {
  it('does not return to the pool', async () => {
    const read = () => store.prepared<{ n: number }>('one', 'select 1 as n', []);
    await read();
    await store.prepared('dropping', 'deallocate all', []);
    await expect(read()).rejects.toMatchObject({ code: '26000' });
    expect(await read()).toEqual([{ n: 1 }]);
  });
});

describe('a database that takes no writes for a while', () => {
  const setReadOnly = (how: string) =>
    shared.store.query(
      `alter database ${databaseOf(shared.url)} ${how.replace('it', 'default_transaction_read_only')}`,
    );
  let opened: Store;

  beforeAll(async () => {
    await setReadOnly('set it = on');
    opened = unmigratedStoreOf(shared.url);
    await opened.open(() => undefined);
  });

  afterAll(async () => {
    await setReadOnly('reset it');
    await opened.close();
  });

  it('counts as away for writes, and gets them when it takes them again', async () => {
    const write = () => opened.transaction((runner) => runner.query(`insert into notes values ('late')`));
    const refused: unknown = await write().catch((error: unknown) => error);
    expect([refused, isPostgresAway(refused)]).toEqual([expect.objectContaining({ code: '25006' }), true]);
    // The connection was opened when the database took none, and would take none for as long as it lasts.
    await opened.query('select 1');
    await setReadOnly('reset it');
    await write().catch(() => undefined);
    await write();
    expect(await notes()).toEqual(['late']);
  });

  it('is asked over a new connection whether it takes them', async () => {
    const probe = new PostgresProbe({ databaseUrl: shared.url, applicationName: 'test' });
    await new InstallationRows(shared.store).create(INSTALLATION, { place: null, places: 0 });
    const isReadOnly = async () => (await probe.ask([]))?.is_read_only;
    try {
      await setReadOnly('set it = on');
      expect(await isReadOnly()).toBe(true);
      await setReadOnly('reset it');
      expect(await isReadOnly()).toBe(false);
    } finally {
      probe.close();
    }
  });
});

describe('an account whose password was changed', () => {
  it('counts the server as away until it is let in', async () => {
    const login = await aDatabaseLogin(shared.url, 'gapless_writer');
    const { username, password } = new URL(login.url);
    const changed = unmigratedStoreOf(login.url);
    await changed.open(() => undefined);
    try {
      const setPassword = async (to: string) => {
        await shared.store.query(`alter role ${username} password '${to}'`);
        await shared.store.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [
          username,
        ]);
      };
      await setPassword('another');
      await eventually(async () => {
        const refused = await changed.query('select 1').catch((error: unknown) => error);
        expect([refused, isPostgresAway(refused)]).toEqual([expect.objectContaining({ code: '28P01' }), true]);
      });
      await setPassword(password);
      expect(await changed.query('select 1 as one')).toEqual([{ one: 1 }]);
    } finally {
      await changed.close();
      await login.drop();
    }
  });
});

describe.each(['idle_in_transaction_session_timeout', 'transaction_timeout'])('a server with %s', (setting) => {
  const LIMIT_MS = 300;
  const setLimit = (how: string) =>
    shared.store.query(`alter database ${databaseOf(shared.url)} ${how.replace('it', setting)}`);

  it('leaves a snapshot to those who look at it for long', async () => {
    // Postgres 16 has only the first one.
    const known = await shared.store.query('select from pg_settings where name = $1', [setting]);
    if (known.length === 0) return;
    await setLimit(`set it = ${LIMIT_MS}`);
    const patient = aStore(shared.url);
    try {
      await patient.open(() => undefined);
      const seen = await patient.snapshot(async (runner) => {
        await runner.query('select 1');
        await delay(3 * LIMIT_MS);
        return runner.query('select 1 as one') as Promise<unknown>;
      });
      expect(seen).toEqual([{ one: 1 }]);
    } finally {
      await patient.close();
      await setLimit('reset it');
    }
  });
});

describe('every connection', () => {
  it('asks the other side soon whether it is there, so that no firewall drops it while it is quiet', async () => {
    const opened = jest.spyOn(Socket.prototype, 'connect');
    const kept = jest.spyOn(Socket.prototype, 'setKeepAlive');
    const migrating = aStore(shared.url);
    const probe = new PostgresProbe({ databaseUrl: shared.url, applicationName: 'test' });
    const heads = new HeadNotifications({
      databaseUrl: shared.url,
      applicationName: 'test',
      logger: createLogger('silent', 'test'),
      onHead: () => undefined,
      onEndedCredentials: () => undefined,
      onGap: () => undefined,
    });
    try {
      await migrating.open(() => undefined);
      await migrating.forOrg(anOrgId(), (runner) => runner.query('select 1'));
      await probe.ask([]);
      heads.start();
      await eventually(() => {
        expect(heads.isListening).toBe(true);
      });
      // Those of migrations, of stages, of requests, of the probe, and of the notifications.
      expect(opened.mock.calls.length).toBeGreaterThanOrEqual(5);
      expect(kept.mock.calls).toEqual(opened.mock.calls.map(() => [true, 30_000]));
    } finally {
      jest.restoreAllMocks();
      await heads.stop();
      probe.close();
      await migrating.close();
    }
  });
});

function databaseOf(url: string): string {
  return `"${new URL(url).pathname.slice(1)}"`;
}

describe('an organization with more slow queries than there are connections', () => {
  it('leaves some to others', async () => {
    const slow = aStore(shared.url);
    await slow.open(() => undefined);
    const LOCK = 4_711;
    let blocked: Promise<unknown> = Promise.resolve();
    await shared.store.transaction(async (holder) => {
      await holder.query('select pg_advisory_xact_lock($1)', [LOCK]);
      const orgId = anOrgId();
      const wait = () =>
        slow.forOrg(orgId, (runner) => runner.query('select pg_advisory_xact_lock_shared($1)', [LOCK]));
      blocked = Promise.allSettled(Array.from({ length: 30 }, wait));
      await eventually(() => {
        expect(slow.connections.waiting).toBeGreaterThan(0);
      });
      expect(await slow.forOrg(anOrgId(), (runner) => runner.query('select 1 as n'))).toEqual([{ n: 1 }]);
    });
    await blocked;
    await slow.close();
  });
});
