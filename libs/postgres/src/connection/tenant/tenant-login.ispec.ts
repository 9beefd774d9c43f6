import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, escapeIdentifier } from 'pg';
import type { OrgId } from '#libs/domain';
import { createLogger } from '#libs/runtime';
import { aDatabaseLogin, type DatabaseLogin } from '../../../../../test/support/database-login.js';
import { anOrgId } from '../../../../../test/support/ids.js';
import {
  adminUrlOf,
  createTestDatabase,
  type TestDatabase,
} from '../../../../../test/support/infrastructure/database.js';
import { eventually } from '../../../../../test/support/infrastructure/eventually.js';
import { aSharingPooler } from '../../../../../test/support/sharing-pooler.js';
import { migrateTestDatabase } from '../../../../../test/support/store.js';
import { makeRole } from '../../migrations/make-role.js';
import { Store } from '../store.js';
import { anEndpoint } from '../../testing/an-endpoint.js';

const orgId = anOrgId();
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** An open store as that of the api. */
async function served(databaseUrl: string, tenantDatabaseUrl: string | null = null): Promise<Store> {
  const store = new Store({
    databaseUrl,
    applicationName: 'requests',
    logger: createLogger('silent', 'test'),
    migratesWhenOpened: true,
    servesRequests: true,
    tenantDatabaseUrl,
  });
  closing.push(() => store.close());
  await store.open(() => undefined);
  return store;
}

async function loginIn(role: string, databaseUrl: string): Promise<string> {
  const login: DatabaseLogin = await aDatabaseLogin(databaseUrl, role);
  closing.push(() => login.drop());
  return login.url;
}

describe('a query of a request', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase(migrateTestDatabase);
    const store = await served(database.url);
    await anEndpoint(store, orgId);
    await anEndpoint(store, anOrgId());
  });

  afterAll(() => database.drop());

  it.each([
    'reset role',
    'set role none',
    `select set_config('role', 'none', true)`,
    'reset session authorization',
    'set session authorization default',
    'set row_security = off',
    'rollback; begin',
  ])('sees no rows of another organization after %s', async (injected) => {
    const store = await served(database.url);
    const seen = await store.forOrg(orgId, async (runner) => {
      await runner.query(injected);
      return (await runner.query('select distinct org_id from endpoints').catch(() => [])) as { org_id: OrgId }[];
    });
    expect(seen.filter((row) => row.org_id !== orgId)).toEqual([]);
  });

  it.each(['gapless_writer', 'gapless_reader'])('cannot become %s, nor the owner', async (role) => {
    const store = await served(database.url);
    const owner = new URL(database.url).username;
    for (const name of [role, owner]) {
      await expect(
        store.forOrg(orgId, (runner) => runner.query(`set local role ${escapeIdentifier(name)}`)),
      ).rejects.toThrow(/permission denied/);
    }
    await expect(store.forOrg(orgId, (runner) => runner.query('select password from tenant_login'))).rejects.toThrow(
      /permission denied/,
    );
  });

  it('uses no more connections than a process had before: 20, however many requests come', async () => {
    const store = await served(database.url);
    const counted: number[] = [];
    const ask = async (index: number) => {
      const asks = 'select pg_sleep(0.02)';
      // On a busy machine, it may take longer than a request waits until there is a connection.
      await eventually(async () => {
        await (index % 2 === 0 ? store.query(asks) : store.forOrg(anOrgId(), (runner) => runner.query(asks)));
      });
      const { busy, idle } = store.connections;
      counted.push(busy + idle);
    };
    await eventually(async () => {
      await Promise.all(Array.from({ length: 80 }, (_, index) => ask(index)));
      // The server may have some of an earlier store for a moment.
      const [row] = await store.query<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity
         where application_name = 'requests' and datname = current_database()`,
      );
      expect(row?.count).toBe(20);
    });
    expect(Math.max(...counted)).toBeLessThanOrEqual(20);
  });

  it('opens no connection for each request', async () => {
    const store = await served(database.url);
    const pids = new Set<number>();
    for (let request = 0; request < 50; request++) {
      const [row] = await store.preparedForOrg<{ pid: number }>(orgId, 'pid', 'select pg_backend_pid() as pid', []);
      pids.add(row!.pid);
    }
    expect(pids.size).toBe(1);
  });

  it('can have an account that the operator made', async () => {
    const store = await served(database.url, await loginIn('gapless_tenant', database.url));
    await expect(store.forOrg(orgId, (runner) => runner.query('select 1 from endpoints'))).resolves.toHaveLength(1);
  });

  it('shares the account of the stages if the operator says so', async () => {
    const store = await served(database.url, 'off');
    const user = (await store.forOrg(orgId, (runner) => runner.query('select session_user as name'))) as object[];
    expect(user).toEqual([{ name: new URL(database.url).username }]);
    await expect(store.forOrg(orgId, (runner) => runner.query('select 1 from endpoints'))).resolves.toHaveLength(1);
    const both = store.forOrg(orgId, async (runner) => {
      await runner.query('reset role');
      return (await runner.query('select 1 from endpoints')) as unknown;
    });
    await expect(both).resolves.toHaveLength(2);
  });

  it('is refused an account that may see all organizations, or that is no tenant', async () => {
    for (const role of ['gapless_writer', 'pg_monitor']) {
      const url = await loginIn(role, database.url);
      await expect(served(database.url, url)).rejects.toThrow(
        role === 'gapless_writer' ? /may become gapless_writer/ : /is not in the role gapless_tenant/,
      );
    }
    await expect(served(database.url, database.url)).rejects.toThrow(/see rows of all organizations/);
  });

  it('is refused an account behind a pooler that shares connections, with what to do', async () => {
    const pooler = await aSharingPooler(await loginIn('gapless_tenant', database.url));
    closing.push(() => pooler.close());
    const opening = served(database.url, pooler.url);
    await expect(opening).rejects.toMatchObject({
      name: 'TenantLoginError',
      message: expect.stringMatching(/pooler that shares connections between statements.*pool_mode = session/),
    });
  });

  it('is refused an account that cannot log in, with what to do', async () => {
    const wrong = new URL(database.url);
    wrong.password = 'wrong';
    await expect(served(database.url, wrong.href)).rejects.toThrow(/cannot log in: .*Set TENANT_DATABASE_URL/);
  });
});

describe('a database whose owner is no superuser', () => {
  /** An empty database of an account with these rights. */
  async function ownedBy(rights: string): Promise<string> {
    const empty = await createTestDatabase(() => Promise.resolve(), 'empty');
    const owner = `test_${randomBytes(4).toString('hex')}`;
    const admin = new Client({ connectionString: empty.url });
    await admin.connect();
    const name = new URL(empty.url).pathname.slice(1);
    await admin.query(`create role ${owner} login password 'owner' ${rights}`);
    await admin.query(`alter database ${escapeIdentifier(name)} owner to ${owner}`);
    closing.push(async () => {
      await admin.query(`reassign owned by ${owner} to current_user; drop owned by ${owner}`);
      await admin.end();
      await empty.drop();
    });
    const url = new URL(empty.url);
    [url.username, url.password] = [owner, 'owner'];
    return url.href;
  }

  /** What SECURITY.md lets the administrator run. */
  async function grantTenant(ownerUrl: string, how = ''): Promise<URL> {
    const server = new URL(adminUrlOf());
    const admin = new Client({ connectionString: server.href });
    await admin.connect();
    await admin.query(`grant gapless_tenant to gapless_writer`);
    await admin.query(`grant gapless_tenant to ${new URL(ownerUrl).username} ${how}`);
    await admin.end();
    return server;
  }

  it('makes the account as the owner who may make roles', async () => {
    const url = await ownedBy('createrole');
    await grantTenant(url, 'with admin option');
    const store = await served(url);
    const [login] = await store.query<{ name: string }>('select name from tenant_login');
    closing.unshift(async () => {
      const admin = new Client({ connectionString: adminUrlOf() });
      await admin.connect();
      await admin.query(`drop role ${login!.name}`);
      await admin.end();
    });
    const [user] = (await store.forOrg(orgId, (runner) => runner.query('select session_user as name'))) as object[];
    expect(user).toEqual(login);
  });

  it('says who may make the roles, and where that is written', async () => {
    const client = new Client({ connectionString: await ownedBy('nocreaterole') });
    await client.connect();
    try {
      await expect(client.query(makeRole('gapless_nobody'))).rejects.toThrow(
        /may not create the role gapless_nobody: let an administrator create the roles, as SECURITY.md says/,
      );
    } finally {
      await client.end();
    }
  });

  it('makes no account where it may not, says what to do, and takes the one that it is given', async () => {
    const url = await ownedBy('nocreaterole');
    const asAdmin = await grantTenant(url);
    await expect(served(url)).rejects.toThrow(/may not create accounts.*Set TENANT_DATABASE_URL/);
    const tenant = new URL(await loginIn('gapless_tenant', asAdmin.href));
    tenant.pathname = new URL(url).pathname;
    await expect(served(url, tenant.href)).resolves.toBeDefined();
    await expect(served(url, 'off')).resolves.toBeDefined();
  });
});
