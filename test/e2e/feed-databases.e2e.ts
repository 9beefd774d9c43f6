import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { Client } from 'pg';
import type { OrgId } from '#libs/domain';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '#libs/embedded-stack';
import { partitionOf } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { Store } from '#libs/postgres';
import { databaseName } from '#libs/runtime';
import { rebuildCommand } from '../../apps/cli/src/rebuild/rebuild.command.js';
import { verifyCommand } from '../../apps/cli/src/verify/verify.command.js';
import { ApiClient, type Answer } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { runCommand } from '../support/command.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { readLog } from '../support/log-reader.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { scrape, valueOf } from '../support/scrape.js';
import { oneTo } from '../support/sequence.js';
import { aTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

const PARTITIONS = 4;
const EVENTS = 20;

let gapless: GaplessUnderTest;
/** Servers of their own for places 1 and 2; the main database is at place 0. */
let dataDirs: readonly string[];
let second: EmbeddedPostgres;
let third: EmbeddedPostgres;
/** The way to the third one. */
let way: TcpProxy;
let list: readonly string[];
let app: GaplessApp;
let receiver: Receiver;
/** The org of each partition. */
const orgs: { readonly orgId: OrgId; readonly key: string; api: ApiClient }[] = [];

async function start(databaseUrls: readonly string[]): Promise<GaplessApp> {
  app = await gapless.startAll({ PROJECTION_DATABASE_URLS: databaseUrls.join() });
  for (const org of orgs) org.api = new ApiClient(app.url, org.key);
  return app;
}

function environmentOf(databaseUrls: readonly string[]) {
  return { ...gapless.environment, PROJECTION_DATABASE_URLS: databaseUrls.join() };
}

async function verified(databaseUrls: readonly string[]): Promise<unknown> {
  const { lines, failure } = await runCommand(verifyCommand, environmentOf(databaseUrls), ['--json']);
  if (failure !== null) throw failure;
  return (JSON.parse(lines[0]!) as { ok: boolean; differences: unknown }).ok;
}

/** Emits events of the org of a partition, and waits until its feed has them. */
async function emit(partition: number, count: number): Promise<void> {
  const { api } = orgs[partition]!;
  const before = (await api.feed()).length;
  await api.emit(oneTo(count).map((n) => ({ event: 'ticket.created', data: { n, text: 'ä"\\' } })));
  await eventually(async () => {
    expect(await api.feed()).toHaveLength(before + count);
  });
}

function expectUnavailable(answer: Answer): void {
  expect(answer.status).toBe(503);
  expect(JSON.parse(answer.text)).toMatchObject({ code: 'unavailable' });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(answer.text).not.toMatch(/127\.0\.0\.1|ECONN|postgres:/);
}

async function readiness() {
  const response = await fetch(`${app.url}/health/ready`);
  const text = await response.text();
  return { code: response.status, text, parts: (JSON.parse(text) as { parts: Record<string, unknown> }).parts };
}

async function untilShownAway(server: string): Promise<void> {
  await eventually(async () => {
    const { code, text, parts } = await readiness();
    expect(parts[`feed database ${server}`]).toMatchObject({ status: 'degraded' });
    // The whole answer names the part that is not ready.
    expect([code, text]).toEqual([200, text]);
  });
}

/** Expects that the feeds hold the bytes of the log. */
async function expectFeedsAsLogged(): Promise<void> {
  const logged = await readLog(gapless.environment['KAFKA_BROKERS']!, gapless.environment['TOPIC_PREFIX']!);
  for (const { orgId, api } of orgs) {
    const expected = (logged.get(orgId) ?? []).map(({ envelope }) => envelope);
    expect(await api.feedText('since=0&limit=1000')).toBe(`{"data":[${expected.join()}],"next_seq":null}`);
    expect((await api.feed()).map(({ seq }) => seq)).toEqual(oneTo(expected.length));
  }
}

beforeAll(async () => {
  dataDirs = oneTo(2).map(() => mkdtempSync(join(tmpdir(), 'gapless-feed-')));
  [second, third] = (await Promise.all(
    dataDirs.map((dataDir) => startEmbeddedPostgres({ dataDir, log: () => undefined, port: 0, durable: false })),
  )) as [EmbeddedPostgres, EmbeddedPostgres];
  way = await aTcpProxy(third.url);
  await way.open();
  gapless = await aGapless({ PARTITIONS: String(PARTITIONS) });
  list = [gapless.environment['DATABASE_URL']!, second.url, way.url];
  receiver = await aReceiver();
  await start(list);
  const store = app.app.get(Store);
  while (orgs.length < PARTITIONS) {
    const orgId = anOrgId();
    if (partitionOf(orgId, PARTITIONS) !== orgs.length) continue;
    const key = await anApiKey(store, orgId);
    orgs.push({ orgId, key, api: new ApiClient(app.url, key) });
  }
  for (const { api } of orgs) await api.createWebhook({ url: receiver.url, events: ['ticket.created'] });
  for (const partition of orgs.keys()) await emit(partition, EVENTS);
});

afterAll(async () => {
  await gapless.stop();
  await way.close();
  await Promise.all([second.stop(), third.stop(), receiver.close()]);
  for (const dataDir of dataDirs) rmSync(dataDir, { recursive: true, force: true });
});

describe('a feed on three servers', () => {
  it('has the bytes of the log, as verify and rebuild find', async () => {
    await expectFeedsAsLogged();
    expect(await verified(list)).toBe(true);
    const { lines, failure } = await runCommand(rebuildCommand, environmentOf(list), ['--json']);
    expect(failure).toBeNull();
    const { tables } = JSON.parse(lines[0]!) as {
      tables: readonly { table: string; rows: number; differing: number }[];
    };
    const events = tables.find(({ table }) => table === 'events');
    expect(events).toEqual({ table: 'events', rows: PARTITIONS * EVENTS, differing: 0 });
    expect(tables.filter(({ differing }) => differing > 0)).toEqual([]);
    for (const partition of orgs.keys()) await emit(partition, 1);
    await expectFeedsAsLogged();
  });

  it('waits on its server alone when that is killed, and has everything once it is back', async () => {
    const name = databaseName(second.url);
    const { api, orgId } = orgs[1]!;
    await second.kill();
    await untilShownAway(name);
    const { text } = await readiness();
    expect(text).not.toContain(new URL(second.url).password);
    expect(valueOf(await scrape(app.url), 'gapless_feed_server_up', { server: name })).toBe(0);
    expectUnavailable(await api.request('GET', '/external/events?since=0'));
    const event = { event: 'ticket.created', data: { n: 1 } };
    expectUnavailable(
      await api.request('POST', '/internal/events', JSON.stringify({ events: [{ ...event, id: anEventId() }] })),
    );
    const pushedBefore = receiver.received.length;
    for (const partition of [0, 2, 3]) await emit(partition, 2);
    // Services that write to the inbox need no database.
    await appendToInbox({ ...event, id: anEventId(), org_id: orgId });
    await eventually(() => {
      expect(receiver.received.length).toBe(pushedBefore + 7);
    });
    const before = await feedLength(2);
    second = await startEmbeddedPostgres({
      dataDir: dataDirs[0]!,
      log: () => undefined,
      port: Number(new URL(second.url).port),
    });
    await eventually(async () => {
      expect((await api.feed()).map(({ seq }) => seq)).toEqual(oneTo(EVENTS + 2));
    });
    expect((await readiness()).parts[`feed database ${name}`]).toEqual({ status: 'ready' });
    expect(await feedLength(2)).toBe(before);
    await emit(1, 1);
    await expectFeedsAsLogged();
    expect(await verified(list)).toBe(true);
  });

  it('waits on its server alone when that freezes', async () => {
    const { api } = orgs[2]!;
    way.freeze();
    const frozen = api.request('GET', '/external/events?since=0');
    for (const partition of [0, 1, 3]) await emit(partition, 1);
    expectUnavailable(await frozen);
    await untilShownAway(databaseName(way.url));
    for (const partition of [0, 1, 3]) await emit(partition, 1);
    await way.close();
    await way.open();
    await eventually(async () => {
      expect((await api.feed()).length).toBeGreaterThan(EVENTS);
    });
    await emit(2, 1);
    await expectFeedsAsLogged();
  });

  it('leaves another database alone that is in its place, and goes on with the right one', async () => {
    const { api } = orgs[1]!;
    const name = databaseName(second.url);
    const before = await api.feedText('since=0&limit=1000');
    const shown = async () => JSON.stringify((await readiness()).parts[`feed database ${name}`]);
    const ready = async () => {
      expect(await shown()).toBe('{"status":"ready"}');
    };
    await replaced(second.url, EMPTY, async () => {
      await eventually(async () => {
        expect(await shown()).toMatch(/degraded.*installation.*does not exist/);
      });
      expectUnavailable(await api.request('GET', '/external/events?since=0'));
    });
    await eventually(ready);
    const emptied = [...OF_ANOTHER_INSTALLATION, 'truncate events, org_heads, projection_offsets'];
    await replaced(second.url, emptied, async (other) => {
      await eventually(async () => {
        expect(await shown()).toMatch(/degraded.*belongs to installation/);
      });
      expectUnavailable(await api.request('GET', '/external/events?since=0'));
      for (const partition of [0, 2, 3]) await emit(partition, 1);
      expect((await other.query('select 1 from events')).rowCount).toBe(0);
    });
    await eventually(ready);
    expect(await api.feedText('since=0&limit=1000')).toBe(before);
    await emit(1, 1);
    await expectFeedsAsLogged();
  });

  it('is read while it takes no writes, and says so, also by a process that starts meanwhile', async () => {
    const name = databaseName(second.url);
    const database = new URL(second.url).pathname.slice(1);
    const admin = new Client({ connectionString: second.url });
    // It is lost with the server, if the test has failed.
    admin.on('error', () => undefined);
    await admin.connect();
    const renew = `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`;
    let before = 0;
    try {
      await admin.query(`alter database "${database}" set default_transaction_read_only = on`);
      await admin.query(renew, [database]);
      await untilShownAway(name);
      expect((await readiness()).parts[`feed database ${name}`]).toMatchObject({
        reason: expect.stringMatching(/no writes/),
      });
      before = (await eventually(() => orgs[1]!.api.feed())).length;
      // With an id, it is one event however often it is sent.
      const event = { id: anEventId(), event: 'ticket.created', data: { n: 1 } };
      await eventually(() => orgs[1]!.api.emit([event]));
      await app.stop();
      await start(list);
      await untilShownAway(name);
      expect(await eventually(() => orgs[1]!.api.feed())).toHaveLength(before);
      for (const partition of [0, 2, 3]) await emit(partition, 1);
    } finally {
      await admin.query('set default_transaction_read_only = off');
      await admin.query(`alter database "${database}" reset default_transaction_read_only`);
      await admin.query(renew, [database]);
      await admin.end();
    }
    await eventually(async () => {
      expect(await orgs[1]!.api.feed()).toHaveLength(before + 1);
    });
    await expectFeedsAsLogged();
  });

  it('is not ready while another database is in place of the main one', async () => {
    await replaced(list[0]!, OF_ANOTHER_INSTALLATION, async () => {
      await eventually(async () => {
        const { code, text } = await readiness();
        expect([code, text]).toEqual([503, expect.stringMatching(/belongs to installation .* now, and not to/)]);
      });
    });
    await eventually(async () => {
      expect((await readiness()).code).toBe(200);
    });
    for (const partition of orgs.keys()) await emit(partition, 1);
    await expectFeedsAsLogged();
  });

  it('is served from the others by a process that starts while one is away', async () => {
    await app.stop();
    const missing = Object.assign(new URL(third.url), { pathname: '/missing' }).href;
    await start([list[0]!, list[1]!, missing]);
    await untilShownAway(databaseName(missing));
    await app.stop();
    await way.close();
    await start(list);
    await untilShownAway(databaseName(way.url));
    expectUnavailable(await orgs[2]!.api.request('GET', '/external/events?since=0'));
    for (const partition of [0, 1, 3]) await emit(partition, 1);
    await way.open();
    await eventually(async () => {
      expect((await orgs[2]!.api.feed()).length).toBeGreaterThan(EVENTS);
    });
    await emit(2, 1);
    await expectFeedsAsLogged();
  });

  it('moves to another list while nothing runs, and back to one database', async () => {
    const feeds = async () => Promise.all(orgs.map(({ api }) => api.feedText('since=0&limit=1000')));
    const before = await feeds();
    const [main, two] = [list[0]!, list[1]!];
    await expect(start([two, main])).rejects.toThrow(/PROJECTION_DATABASE_URLS.*\n.*--assign-places/);
    for (const next of [[two, main], [two], []]) {
      const refused = await runCommand(rebuildCommand, environmentOf(next), ['--assign-places']);
      expect(refused.failure?.message).toMatch(/processes are running/);
      await app.stop();
      const moved = await eventually(async () => {
        const { lines, failure } = await runCommand(rebuildCommand, environmentOf(next), ['--assign-places']);
        if (failure !== null) throw failure;
        return lines;
      });
      expect(moved.at(-1)).toBe('What was rebuilt is served now.');
      await start(next);
      expect(await feeds()).toEqual(before);
      expect(await verified(next)).toBe(true);
    }
    for (const partition of orgs.keys()) await emit(partition, 1);
    await expectFeedsAsLogged();
  });
});

const KEPT = 'kept';

const EMPTY = null;
const OF_ANOTHER_INSTALLATION = ['update installation set id = gen_random_uuid()'];

/**
 * Acts while another database has the name of this one.
 * @param changes what makes the other one of a copy, before it gets the name: processes look for it all the time
 */
async function replaced(
  databaseUrl: string,
  changes: readonly string[] | null,
  act: (other: Client) => Promise<void>,
): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  // Not `template1`: while anyone is connected to it, other suites cannot create databases.
  const admin = new Client({ connectionString: Object.assign(new URL(databaseUrl), { pathname: '/postgres' }).href });
  await admin.connect();
  const leave = async (database: string) => {
    await admin.query(`alter database "${database}" allow_connections false`);
    await admin.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [database]);
  };
  await leave(name);
  await admin.query(`alter database "${name}" rename to "${KEPT}"`);
  await admin.query(changes === null ? `create database "${name}"` : `create database "changed" template "${KEPT}"`);
  if (changes !== null) {
    const changed = new Client({
      connectionString: Object.assign(new URL(databaseUrl), { pathname: '/changed' }).href,
    });
    await changed.connect();
    for (const change of changes) await changed.query(change);
    await changed.end();
    await leave('changed');
    await admin.query(`alter database "changed" rename to "${name}"`);
    await admin.query(`alter database "${name}" allow_connections true`);
  }
  const other = new Client({ connectionString: databaseUrl });
  await other.connect();
  try {
    await act(other);
  } finally {
    await other.end();
    await leave(name);
    await admin.query(`drop database "${name}"`);
    await admin.query(`alter database "${KEPT}" rename to "${name}"`);
    await admin.query(`alter database "${name}" allow_connections true`);
    await admin.end();
  }
}

async function feedLength(partition: number): Promise<number> {
  return (await orgs[partition]!.api.feed()).length;
}

async function appendToInbox(value: Readonly<Record<string, unknown>> & { readonly org_id: string }): Promise<void> {
  const kafka = new Kafka({ brokers: [gapless.environment['KAFKA_BROKERS']!], logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  const topic = `${gapless.environment['TOPIC_PREFIX']!}.inbox.v1`;
  await producer.send({ topic, messages: [{ key: value.org_id, value: JSON.stringify(value) }] });
  await producer.disconnect();
}
