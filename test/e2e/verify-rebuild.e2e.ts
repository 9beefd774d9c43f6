import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SEQ_NONE, type OrgId } from '#libs/domain';
import { DeliveryLogAudit, FeedAudit, Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { rebuildCommand } from '../../apps/cli/src/rebuild/rebuild.command.js';
import { withInstallation } from '../../apps/cli/src/installation.js';
import { Differences } from '../../apps/cli/src/verify/difference.js';
import { verifyDeliveries } from '../../apps/cli/src/verify/verify-deliveries.js';
import { verifyFeed } from '../../apps/cli/src/verify/verify-feed.js';
import { verifyCommand } from '../../apps/cli/src/verify/verify.command.js';
import { ApiClient, type Webhook } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { runCommand } from '../support/command.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anOrgId } from '../support/ids.js';
import { aDatabaseLogin, type DatabaseLogin } from '../support/database-login.js';
import { createTestDatabase } from '../support/infrastructure/database.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readLog } from '../support/log-reader.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { ROOT } from '../support/root.js';
import { oneTo } from '../support/sequence.js';
import { aStore, migrateTestDatabase } from '../support/store.js';

interface Verified {
  readonly ok: boolean;
  readonly log: {
    readonly records: number;
    readonly orgs: readonly { readonly org_id: string; readonly first_seq: number; readonly last_seq: number }[];
  };
  readonly feed: { readonly compared: number; readonly pruned: number };
  readonly deliveries: { readonly compared: number; readonly facts: number } | null;
  readonly differences: {
    readonly count: number;
    readonly first: readonly { readonly kind: string; readonly text: string }[];
  };
}

const PROJECTED = ['events', 'org_heads', 'deliveries', 'delivery_attempts', 'endpoint_health'];
/** In the order in which `pg_restore` fills them, by their foreign keys. */
const RECORDS = ['endpoints', 'endpoint_inactive_periods', 'endpoint_versions', 'api_keys', 'installation'];
const DAY_TABLES = ['events', 'deliveries', 'delivery_attempts'];
const EVENTS = 60;
const NO_PROGRESS = { begin: () => undefined, advance: () => undefined, end: () => undefined };

let gapless: GaplessUnderTest;
/** Those who log in with least privilege: the stages write, and verify reads. */
let writer: DatabaseLogin;
let reader: DatabaseLogin;
let receiver: Receiver;
let app: GaplessApp;
let api: ApiClient;
let orgId: OrgId;
/** Nothing holds these. */
let failing: Webhook;
let store: Store;
let owner: Store;

/** Every row of a table as text, in an order of its own; when a row was written counts for nothing. */
async function rowsOf(table: string, from: Store = store): Promise<readonly string[]> {
  const rows = await from.query<{ row: string }>(
    `select (to_jsonb(t) - 'endings')::text as row from ${table} t order by 1`,
  );
  return rows.map(({ row }) => row);
}

async function verify(...args: readonly string[]): Promise<Verified & { readonly exitCode: number }> {
  const environment = { ...gapless.environment, DATABASE_URL: reader.url };
  const { lines, failure } = await runCommand(verifyCommand, environment, ['--json', ...args]);
  const [line] = lines;
  if (line === undefined) throw failure ?? new Error('it printed nothing');
  return { ...(JSON.parse(line) as Verified), exitCode: failure === null ? 0 : (failure.exitCode ?? 1) };
}

interface Rebuilt {
  readonly records: number;
  readonly folded_before: number;
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly differing: number }[] | null;
}

async function rebuild(environment: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const { lines, failure } = await runCommand(rebuildCommand, environment, ['--json', ...args]);
  if (failure !== null) throw failure;
  return JSON.parse(lines[0]!) as Rebuilt;
}

async function days(): Promise<readonly string[]> {
  const rows = await store.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent in ('events'::regclass, 'deliveries'::regclass)`,
  );
  return rows.map(({ name }) => name);
}

/** The events of the feed as their bytes are, however many pages they need. */
async function feedBytes(): Promise<string> {
  const pages: string[] = [];
  for (let since: number | null = 0; since !== null;) {
    const page = await api.feedText(`since=${since}&limit=1000`);
    pages.push(page.slice('{"data":['.length, page.lastIndexOf('],"next_seq":')));
    since = (JSON.parse(page) as { next_seq: number | null }).next_seq;
  }
  return pages.join(',');
}

async function settled(): Promise<void> {
  await eventually(async () => {
    const [row] = await store.query<{ pending: number }>(
      `select count(*)::int as pending from deliveries where status = 'pending'`,
    );
    expect(row).toEqual({ pending: 0 });
  });
}

beforeAll(async () => {
  // It looks into the tables of one database. Several have a test of their own.
  gapless = await aGapless({ RETRY_SCHEDULE: '200ms,200ms', AUTO_DISABLE_AFTER: '30', PROJECTION_DATABASE_URLS: '' });
  receiver = await aReceiver((request, response) => {
    response.writeHead(request.url === '/failing' ? 500 : 200).end();
  });
  [writer, reader] = await Promise.all([
    aDatabaseLogin(gapless.environment['DATABASE_URL']!, 'gapless_writer'),
    aDatabaseLogin(gapless.environment['DATABASE_URL']!, 'gapless_reader'),
  ]);
  owner = aStore(gapless.environment['DATABASE_URL']!);
  await owner.open(() => undefined);
  app = await gapless.startAll({ DATABASE_URL: writer.url });
  store = app.app.get(Store);
  orgId = anOrgId();
  api = new ApiClient(app.url, await anApiKey(store, orgId));
  await api.createWebhook({ url: receiver.url, events: ['ticket.created'], previous_sequence: true });
  failing = await api.createWebhook({ url: new URL('/failing', receiver.url).href, events: ['ticket.created'] });
  const deleted = await api.createWebhook({ url: receiver.url, events: ['ticket.created'] });
  const other = new ApiClient(app.url, await anApiKey(store, anOrgId()));
  await other.emit(oneTo(5).map((n) => ({ event: 'ticket.created', data: { n } })));
  await api.emit(oneTo(EVENTS).map((n) => ({ event: 'ticket.created', data: { n, text: 'ä"\\' } })));
  await eventually(async () => {
    expect((await api.webhook(failing.id)).is_active).toBe(false);
  });
  await api.request('DELETE', `/external/webhooks/${deleted.id}`);
  await settled();
  await eventually(async () => {
    expect(await store.query('select from deliveries where endpoint_id = $1 limit 1', [deleted.id])).toEqual([]);
  });
});

afterAll(async () => {
  await owner.close();
  await gapless.stop();
  await Promise.all([writer.drop(), reader.drop()]);
  await receiver.close();
});

describe('verify', () => {
  it('finds nothing in what the stages made, of endpoints that were disabled and deleted too', async () => {
    const found = await verify();
    expect(found.differences).toEqual({ count: 0, first: [] });
    expect(found).toMatchObject({ ok: true, exitCode: 0, feed: { compared: EVENTS + 5, pruned: 0 } });
    const org = found.log.orgs.find(({ org_id: id }) => id === orgId);
    const figures = {
      first_seq: 1,
      last_seq: EVENTS,
      events: EVENTS,
      gaps: 0,
      missing: 0,
      repeats: 0,
      repeated_ids: 0,
    };
    expect(org).toEqual({ org_id: orgId, ...figures });
    expect(found.deliveries?.compared).toBeGreaterThanOrEqual(2 * EVENTS);
  });

  it('leaves out the delivery log if it is asked to', async () => {
    const found = await verify('--feed-only');
    expect(found).toMatchObject({ ok: true, exitCode: 0, feed: { compared: EVENTS + 5 }, deliveries: null });
  });

  it('looks at one org alone, from a seq on', async () => {
    const found = await verify('--org', orgId, '--from', String(EVENTS - 9));
    expect(found).toMatchObject({ ok: true, feed: { compared: 10 } });
    expect(found.log.orgs).toMatchObject([{ org_id: orgId, first_seq: EVENTS - 9, last_seq: EVENTS }]);
    expect(found.deliveries?.compared).toBeLessThan(3 * 10 + 1);
  });

  it('folds the facts of a large partition in rounds', async () => {
    const differences = new Differences();
    const scope = { orgId: null, from: SEQ_NONE, sinceMs: 0, patienceMs: 0 };
    const [once, rounds] = await withInstallation(gapless.environment, async (installation) => [
      await verifyDeliveries(installation, scope, differences, NO_PROGRESS),
      await verifyDeliveries(installation, scope, differences, NO_PROGRESS, 40),
    ]);
    expect(rounds).toEqual(once);
    expect(differences).toMatchObject({ count: 0 });
  });

  it('leaves out what is past retention', async () => {
    const inAYear = { now: () => Date.now() + 365 * 86_400_000 };
    const { lines } = await runCommand(verifyCommand, gapless.environment, ['--json'], inAYear);
    const found = JSON.parse(lines[0]!) as Verified;
    expect(found).toMatchObject({ ok: true, feed: { compared: 0, pruned: EVENTS + 5 }, deliveries: { compared: 0 } });
  });

  it('leaves out what gets past retention while it looks', async () => {
    const tables = ['events', 'deliveries'];
    for (const table of tables) {
      await owner.query(`create table kept_${table} as select * from ${table} where org_id = $1 and seq = 2`, [orgId]);
      await owner.query(`with gone as (delete from ${table} where org_id = $1 and seq = 2) select 1`, [orgId]);
    }
    /* oxlint-disable typescript/unbound-method -- they are called with their object below */
    const { mismatches } = FeedAudit.prototype;
    const { atOneMoment } = DeliveryLogAudit.prototype;
    /* oxlint-enable typescript/unbound-method */
    try {
      const differences = async (daysEnd: boolean) => {
        const found = new Differences();
        let sinceMs = 0;
        const after = async <T>(looked: Promise<T>): Promise<T> => {
          const rows = await looked;
          if (daysEnd) sinceMs = Date.now() + 86_400_000;
          return rows;
        };
        jest.spyOn(FeedAudit.prototype, 'mismatches').mockImplementation(function (this: FeedAudit, events) {
          return after(mismatches.call(this, events));
        });
        jest.spyOn(DeliveryLogAudit.prototype, 'atOneMoment').mockImplementation(function (
          this: DeliveryLogAudit,
          topic,
          act,
        ) {
          return atOneMoment.call(this, topic, (moment) =>
            act({ ...moment, mismatches: (deliveries) => after(moment.mismatches(deliveries)) }),
          );
        });
        const scope = { orgId: null, from: SEQ_NONE, patienceMs: 0 };
        await withInstallation(gapless.environment, async (installation) => {
          for (const look of [verifyFeed, verifyDeliveries]) {
            sinceMs = 0;
            const at = Object.defineProperty(scope, 'sinceMs', { get: () => sinceMs, configurable: true });
            await look(installation, at as typeof scope & { sinceMs: number }, found, NO_PROGRESS);
          }
        });
        return found.first.map(({ kind }) => kind);
      };
      expect(await differences(false)).toEqual(['feed', 'delivery', 'delivery']);
      expect(await differences(true)).toEqual([]);
    } finally {
      jest.restoreAllMocks();
      for (const table of tables) {
        await owner.query(`insert into ${table} select * from kept_${table}`);
        await owner.query(`drop table kept_${table}`);
      }
    }
  });

  it('cannot verify what it cannot reach, and says so with a status of its own', async () => {
    const nobody = { ...gapless.environment, DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing' };
    const { failure } = await runCommand(verifyCommand, nobody);
    expect(failure).toMatchObject({ exitCode: 2, message: expect.stringContaining('not verified') });
  });
});

describe('rebuild', () => {
  it('fixes what verify has found, byte for byte, under load', async () => {
    const [before, headsBefore] = [await rowsOf('events'), await rowsOf('org_heads')];
    const deliveriesBefore = await rowsOf('deliveries');
    await store.query(`update events set envelope = envelope || ' ' where org_id = $1 and seq = 3`, [orgId]);
    await store.query('delete from events where org_id = $1 and seq = 4', [orgId]);
    await store.query(`update events set event_type = 'ticket.updated' where org_id = $1 and seq = 5`, [orgId]);
    await store.query(
      `insert into events select org_id, seq, appended_at + interval '1 ms', event_id, event_type, widget_id, envelope
       from events where org_id = $1 and seq = 6`,
      [orgId],
    );
    await store.query(
      `update deliveries set previous_seq = 3 where org_id = $1 and seq = 12 and previous_seq is not null`,
      [orgId],
    );
    await store.query(`update deliveries set attempts = 7 where org_id = $1 and seq in (7, 10)`, [orgId]);
    await store.query(
      `delete from delivery_attempts where delivery_id in (select id from deliveries where seq = 8 and status = 'delivered')`,
    );
    await store.query(`delete from deliveries where org_id = $1 and seq = 9`, [orgId]);
    await store.query('update org_heads set last_seq = 1 where org_id = $1', [orgId]);

    const broken = await verify();
    expect(broken.exitCode).toBe(1);
    const kinds = broken.differences.first.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'feed')).toHaveLength(3);
    expect(kinds).toEqual(expect.arrayContaining(['feed_has_more', 'head', 'delivery']));
    const texts = broken.differences.first.map(({ text }) => text);
    expect(texts).toContain(`org ${orgId}: seq 3 has another envelope in the feed than in the log`);
    expect(texts).toContain(`org ${orgId}: seq 4 is in the log and not in the feed`);
    expect(texts).toContain(`org ${orgId}: seq 5 has another event_type in the feed than in the log`);
    expect(texts).toContain(`org ${orgId}: the feed has 1 events that the log lacks`);
    // Two endpoints are left, and each had a delivery of each event.
    expect(broken.differences.count).toBe(5 + 8);
    const { lines } = await runCommand(verifyCommand, gapless.environment);
    expect(lines.filter((line) => line.startsWith('- '))).toHaveLength(10);
    expect(lines.at(-1)).toBe('… and 3 more');
    // Also if the program that reads its output ends.
    const unread = spawn(process.execPath, [resolve(ROOT, 'dist/apps/cli/src/main.js'), 'verify'], {
      env: { ...process.env, ...gapless.environment },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    unread.stdout.destroy();
    expect(await once(unread, 'exit')).toEqual([1, null]);

    // A day that is there is there afterwards, with or without events.
    for (const table of DAY_TABLES) await owner.query(`select gapless_make_day($1, '2031-01-01')`, [table]);
    const daysBefore = await days();

    const acknowledged: string[] = [];
    const over = new AbortController();
    const load = (async () => {
      for (let n = 0; !over.signal.aborted; n++) {
        acknowledged.push(...(await api.emit(oneTo(5).map(() => ({ event: 'ticket.created', data: { n } })))));
        // A read while the tables are exchanged never returns less than before.
        const feed = await api.feedText(`since=${EVENTS}&limit=1000`);
        expect(feed).toContain('"data":');
      }
    })();
    const report = await rebuild(gapless.environment);
    const underLoad = await verify();
    over.abort();
    await load;
    expect(underLoad.differences).toEqual({ count: 0, first: [] });
    const differing = Object.fromEntries((report.tables ?? []).map((table) => [table.table, table.differing]));
    expect(differing).toEqual({ events: 4, org_heads: 0, deliveries: 7, delivery_attempts: 1, endpoint_health: 0 });

    expect(await days()).toEqual(expect.arrayContaining([...daysBefore]));
    await settled();
    expect((await verify()).differences).toEqual({ count: 0, first: [] });
    const after = new Set(await rowsOf('events'));
    expect(before.filter((row) => !after.has(row))).toEqual([]);
    expect(after.size).toBe(before.length + acknowledged.length);
    // What ended with its endpoint is seen as ended at once; the sweep writes it into the rows.
    await eventually(async () => {
      const deliveriesAfter = new Set(await rowsOf('deliveries'));
      expect(deliveriesBefore.filter((row) => !deliveriesAfter.has(row))).toEqual([]);
    });
    expect((await rowsOf('org_heads')).length).toBe(headsBefore.length);
    const log = await readLog(gapless.environment['KAFKA_BROKERS']!, gapless.environment['TOPIC_PREFIX']!);
    const logged = log.get(orgId)!.map(({ envelope }) => envelope);
    const isAsLogged = (await feedBytes()) === logged.join(',');
    expect(isAsLogged).toBe(true);
    expect(log.get(orgId)!.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged));
  });

  it('makes only the delivery log again, and leaves the feed as it is', async () => {
    await store.query(`update deliveries set status = 'failed', last_error = 'dns' where seq = 2`);
    await store.query(`update events set event_type = 'ticket.updated' where org_id = $1 and seq = 5`, [orgId]);
    const report = await rebuild(gapless.environment, '--deliveries');
    expect(report.tables?.map(({ table }) => table)).toEqual(['deliveries', 'delivery_attempts', 'endpoint_health']);
    const found = await verify();
    expect(found.differences.first.map(({ text }) => text)).toEqual([
      `org ${orgId}: seq 5 has another event_type in the feed than in the log`,
    ]);
    await store.query(`update events set event_type = 'ticket.created' where org_id = $1 and seq = 5`, [orgId]);
  });

  it('goes on where it was killed, and refuses to run twice', async () => {
    let killed: ChildProcess | undefined;
    // The rebuild has folded everything, and waits to replace the tables.
    await owner.transaction(async (runner) => {
      await runner.query('lock table projection_offsets in row exclusive mode');
      killed = spawn(process.execPath, [resolve(ROOT, 'dist/apps/cli/src/main.js'), 'rebuild'], {
        env: { ...process.env, ...gapless.environment },
        stdio: 'ignore',
      });
      await eventually(async () => {
        const waiting = `select 1 from pg_locks where relation = 'projection_offsets'::regclass and not granted
          and database = (select oid from pg_database where datname = current_database())`;
        expect(await store.query(waiting)).toHaveLength(1);
      });
      await expect(rebuild(gapless.environment)).rejects.toThrow('Another move, rebuild or repair is under way');
      killed.kill('SIGKILL');
      await once(killed, 'exit');
    });
    // Postgres notices the death of its client when it answers.
    const report = await eventually(() => rebuild(gapless.environment));
    expect(report.records).toBe(0);
    expect(report.folded_before).toBeGreaterThan(EVENTS);
    expect(report.tables?.every(({ rows, differing }) => rows > 0 && differing === 0)).toBe(true);
    expect((await verify()).differences).toEqual({ count: 0, first: [] });
    expect(await rebuild(gapless.environment)).toMatchObject({ records: report.folded_before, folded_before: 0 });
  });

  it('folds on several threads', async () => {
    await api.emit(oneTo(500).map((n) => ({ event: 'ticket.created', data: { n } })));
    await settled();
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [resolve(ROOT, 'dist/apps/cli/src/main.js'), 'rebuild', '--json', '--threads', '3'],
      { env: { ...process.env, ...gapless.environment } },
    );
    const report = JSON.parse(stdout) as Rebuilt;
    expect(report.records).toBeGreaterThan(3 * 500);
    expect(report.tables?.every(({ rows, differing }) => rows > 0 && differing === 0)).toBe(true);
    expect((await verify()).differences).toEqual({ count: 0, first: [] });
  });

  it('takes who owns the tables, and leaves everything as it is for anybody else', async () => {
    const asWriter = { ...gapless.environment, DATABASE_URL: writer.url };
    const { failure } = await runCommand(rebuildCommand, asWriter, []);
    expect(failure?.message).toMatch(/belong to .*, and not to /);
    expect((await verify()).differences).toEqual({ count: 0, first: [] });
  });

  it('leaves the schema as the migrations make it', async () => {
    const schemas = await store.query(`select nspname from pg_namespace where nspname ~ '^gapless_'`);
    expect(schemas).toEqual([]);
    await expect(store.forOrg(orgId, (runner) => runner.query('select 1 from events limit 1'))).resolves.toHaveLength(
      1,
    );
    await expect(
      store.forOrg(anOrgId(), (runner) => runner.query('select 1 from events limit 1')),
    ).resolves.toHaveLength(0);
    const indexes = await store.query<{ name: string }>(
      `select indexname as name from pg_indexes where schemaname = 'public' and tablename = 'deliveries' order by 1`,
    );
    expect(indexes.map(({ name }) => name)).toEqual([
      'deliveries_by_status',
      'deliveries_due_in_lanes',
      'deliveries_in_chain',
      'deliveries_in_lanes',
      'deliveries_in_order',
      'deliveries_ordinary',
      'deliveries_pending',
      'deliveries_pkey',
      'deliveries_urgent',
    ]);
  });

  it('brings back what was lost with Postgres, from a backup of the records and the log alone', async () => {
    await settled();
    // The backup: what operators set. Projected tables are not part of it.
    const backup = new Map<string, string>();
    for (const table of RECORDS) {
      const [row] = await store.query<{ rows: string }>(`select json_agg(t)::text as rows from ${table} t`);
      backup.set(table, row!.rows);
    }
    const before = new Map(await Promise.all(PROJECTED.map(async (table) => [table, await rowsOf(table)] as const)));
    await app.stop();

    // The loss, and the way back: an empty database, migrated; the records; then the projections.
    const database = await createTestDatabase(migrateTestDatabase);
    const environment = { ...gapless.environment, DATABASE_URL: database.url };
    const restored = aStore(database.url);
    await restored.open(() => undefined);
    for (const [table, rows] of backup) {
      const backedUp = `select * from json_populate_recordset(null::${table}, $1)`;
      await restored.query(`insert into ${table} overriding system value ${backedUp}`, [rows]);
    }
    const report = await rebuild(environment, '--from-empty');
    expect(report.tables).toBeNull();
    for (const table of PROJECTED) expect([table, await rowsOf(table, restored)]).toEqual([table, before.get(table)]);
    for (const table of RECORDS)
      expect(await rowsOf(table, restored)).toHaveLength((JSON.parse(backup.get(table)!) as unknown[]).length);

    const again = await gapless.startAll({ DATABASE_URL: database.url });
    const client = new ApiClient(again.url, await anApiKey(restored, orgId));
    const last = (await client.feed()).at(-1)!.seq;
    await client.emit([{ event: 'ticket.created', data: { after: 'the loss' } }]);
    await eventually(async () => {
      expect((await client.feed()).at(-1)).toMatchObject({ seq: last + 1, data: { after: 'the loss' } });
    });
    const { lines, failure } = await runCommand(verifyCommand, environment);
    expect([lines.at(-1), failure]).toEqual(['No differences.', null]);
    await again.stop();
    await restored.close();
    await database.drop();
  });
});
