import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../../../test/support/infrastructure/database.js';
import { aSharingPooler } from '../../../../../test/support/sharing-pooler.js';
import { anOrgId } from '../../../../../test/support/ids.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { aStore } from '../../../../../test/support/store.js';
import { MIGRATIONS } from '../../migrations/index.js';
import { ADVISORY_LOCKS } from '../advisory-locks.js';
import { isPostgresAway, StoreNotOpenError } from '../postgres-away.js';
import { PostgresProbe } from '../postgres-probe.js';
import type { Store } from '../store.js';

let database: TestDatabase;
let closing: (() => Promise<unknown>)[];

beforeEach(async () => {
  // One that nothing has migrated yet.
  database = await createTestDatabase(() => Promise.resolve(), 'empty');
  closing = [];
});

afterEach(async () => {
  for (const close of closing.reverse()) await close();
  await database.drop();
});

function aStoreToClose(url = database.url): Store {
  const store = aStore(url);
  closing.push(() => store.close());
  return store;
}

async function aClient(): Promise<Client> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  closing.push(() => client.end());
  return client;
}

async function migrated(store: Store): Promise<readonly string[]> {
  const rows = await store.query<{ name: string }>('select name from migrations order by id');
  return rows.map(({ name }) => name);
}

/** What Postgres answers to a client that it does not let in. */
function refusal(code: string, message: string): Buffer {
  const fields = `SFATAL\0VFATAL\0C${code}\0M${message}\0\0`;
  const head = Buffer.alloc(5);
  head.write('E', 0);
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, Buffer.from(fields)]);
}

/** A proxy of the server. It turns away as many clients as there are refusals, then lets all others pass. */
async function turnstile(refusals: Buffer[]): Promise<string> {
  const real = new URL(database.url);
  const door: Server = createServer((client) => {
    client.on('error', () => undefined);
    const answer = refusals.shift();
    if (answer !== undefined) {
      client.once('data', () => client.end(answer));
      return;
    }
    const server = connect(Number(real.port), real.hostname);
    server.on('error', () => client.destroy());
    client.pipe(server).pipe(client);
    client.on('close', () => server.destroy());
  }).listen(0, '127.0.0.1');
  await once(door, 'listening');
  closing.push(() => new Promise((resolve) => door.close(resolve)));
  const url = new URL(database.url);
  url.port = String((door.address() as AddressInfo).port);
  return url.href;
}

describe('a store that opens', () => {
  describe('of a database that is set up in another way', () => {
    let admin: Client;
    let name: string;

    beforeEach(async () => {
      admin = await aClient();
      name = new URL(database.url).pathname.slice(1);
    });

    it('is refused if its encoding lacks characters of events', async () => {
      await admin.query(`create database ${name}_latin encoding 'LATIN1' locale 'C' template template0`);
      closing.push(() => admin.query(`drop database ${name}_latin with (force)`));
      const opening = aStoreToClose(`${database.url}_latin`).open(() => undefined);
      await expect(opening).rejects.toThrow('has the encoding LATIN1, which lacks characters that events may have');
    });

    it('takes nothing from its settings that the statements depend on', async () => {
      await admin.query('create schema elsewhere');
      for (const [setting, value] of [
        ['search_path', 'elsewhere'],
        ['row_security', 'off'],
        ['datestyle', `'SQL, DMY'`],
        ['timezone', `'Asia/Kathmandu'`],
        ['default_transaction_isolation', 'serializable'],
        ['jit', 'on'],
        // Milliseconds in which a new connection can say what it needs, and the larger migrations do not end.
        ['statement_timeout', '20'],
        ['lock_timeout', '1'],
      ] as const) {
        await admin.query(`alter database ${name} set ${setting} = ${value}`);
      }
      const store = aStoreToClose();
      await store.open(() => undefined);
      const settings = `select current_setting('row_security') as policies, current_setting('transaction_isolation') as isolation,
        current_setting('lock_timeout') as lock_timeout, current_setting('statement_timeout') as statement_timeout, current_setting('jit') as jit, current_setting('timezone') as timezone,
        timestamptz '2026-03-05T09:00:00Z' as moment`;
      const expected = {
        policies: 'on',
        isolation: 'read committed',
        lock_timeout: '0',
        statement_timeout: '12s',
        jit: 'off',
        timezone: 'UTC',
        moment: new Date('2026-03-05T09:00:00Z'),
      };
      expect(await store.query(settings)).toEqual([expected]);
      expect(await store.forOrg(anOrgId(), (runner) => runner.query(settings))).toEqual([expected]);
      expect(await store.query(`select from pg_class where relnamespace = 'elsewhere'::regnamespace`)).toEqual([]);
      await admin.query(`alter database ${name} reset statement_timeout`);
      const probe = new PostgresProbe({ databaseUrl: database.url, applicationName: 'test' });
      const answer = await probe.ask([]).finally(() => {
        probe.close();
      });
      expect(answer).toBeNull();
    });
  });

  it('is refused behind a pooler that shares connections, and leaves no lock there', async () => {
    const pooler = await aSharingPooler(database.url);
    closing.push(() => pooler.close());
    const opening = aStoreToClose(pooler.url).open(() => undefined);
    await expect(opening).rejects.toThrow(/pooler .* shares connections between statements.*pool_mode = session/);
    await aStoreToClose().open(() => undefined);
  });

  it('refuses, with a reason, what it is asked before', async () => {
    const store = aStoreToClose();
    const nothing = () => Promise.resolve();
    const asked = [store.prepared('one', 'select 1', []), store.query('select 1'), store.exclusively(1, nothing)];
    for (const { reason } of (await Promise.allSettled(asked)) as PromiseRejectedResult[]) {
      expect([reason, isPostgresAway(reason)]).toEqual([expect.any(StoreNotOpenError), true]);
    }
  });

  it('migrates once when several processes open theirs at the same moment', async () => {
    const stores = [aStoreToClose(), aStoreToClose(), aStoreToClose()];
    await Promise.all(stores.map((store) => store.open(() => undefined)));
    expect(await migrated(stores[0]!)).toEqual(MIGRATIONS.map((migration) => new migration().name));
  });

  it('waits for a server that is starting up, or that has no room for another client', async () => {
    const url = await turnstile([
      refusal('57P03', 'the database system is starting up'),
      refusal('53300', 'sorry, too many clients already'),
    ]);
    const reasons: string[] = [];
    await aStoreToClose(url).open((reason) => reasons.push(reason));
    expect(reasons).toEqual(['the database system is starting up', 'sorry, too many clients already']);
  });

  it('waits for a session that is in the way of a migration', async () => {
    const other = await aClient();
    // The first migration makes a table of that name, and so has to wait for the end of this transaction.
    await other.query('begin; create table projection_offsets (none int)');
    const reasons: string[] = [];
    const store = aStoreToClose();
    const opening = store.open((reason) => reasons.push(reason));
    opening.catch(() => undefined);
    await eventually(() => {
      expect(reasons).toContain('canceling statement due to lock timeout');
    });
    await other.query('rollback');
    await opening;
    expect(await migrated(store)).toEqual(MIGRATIONS.map((migration) => new migration().name));
  });

  it('keeps the lock of its migrations while they wait, on a server that ends idle connections', async () => {
    const IDLE_MS = 300;
    const name = new URL(database.url).pathname.slice(1);
    const other = await aClient();
    await other.query(`alter database ${name} set idle_session_timeout = ${IDLE_MS}`);
    await other.query('begin; create table projection_offsets (none int)');
    const migrating = aStoreToClose().migrate();
    migrating.catch(() => undefined);
    const observer = await aClient();
    await observer.query('set idle_session_timeout = 0');
    await eventually(async () => {
      const waits = `select from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'`;
      expect((await observer.query(waits, [name])).rows).toHaveLength(1);
    });
    await delay(3 * IDLE_MS);
    await other.query('rollback');
    expect(await migrating).toHaveLength(MIGRATIONS.length);
  });

  it('waits for the migrations of another process, says so, and ends with the signal', async () => {
    await (await aClient()).query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.migration]);
    const reasons: string[] = [];
    const stopping = new AbortController();
    const opening = aStoreToClose().open((reason) => reasons.push(reason), stopping.signal);
    opening.catch(() => undefined);
    await eventually(() => {
      expect(reasons[0]).toMatch(/^another process is migrating the schema of /);
    });
    stopping.abort();
    await expect(opening).rejects.toThrow();
  });

  it('ends at once when it is refused for good, and says why', async () => {
    const url = await turnstile([refusal('28P01', 'password authentication failed for user "gapless"')]);
    await expect(aStoreToClose(url).open(() => undefined)).rejects.toThrow('password authentication failed');
  });
});
