import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { systemClock, type OrgId } from '#libs/domain';
import { partitionOf } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { FeedPlaces, Store } from '#libs/postgres';
import { databaseName } from '#libs/runtime';
import { rebuildCommand } from '../../apps/cli/src/rebuild/rebuild.command.js';
import { repairCommand } from '../../apps/cli/src/repair/repair.command.js';
import { verifyCommand } from '../../apps/cli/src/verify/verify.command.js';
import { ApiClient, type Answer, type Envelope } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { runCommand } from '../support/command.js';
import { freePort } from '../support/free-port.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { createTestDatabase, type TestDatabase } from '../support/infrastructure/database.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { ROOT } from '../support/root.js';
import { oneTo } from '../support/sequence.js';
import { aStageProcess, type StageProcess } from '../support/stage-process.js';
import { migrateTestDatabase } from '../support/store.js';

const PARTITIONS = 4;
const EVENTS = 300;
/** Longer than the measured pause: a machine under test may be slow. */
const LONGEST_PAUSE_MS = 8_000;
/** A machine that stops this process for so long may stop a move, too. A request gives up after 5 s of a move. */
const BUSY_MS = 500;
const LONGEST_PAUSE_IF_BUSY_MS = 30_000;

interface Org {
  readonly orgId: OrgId;
  readonly key: string;
}

let gapless: GaplessUnderTest;
let apps: readonly GaplessApp[];
let databases: readonly TestDatabase[];
let folder: string;
/** The org of each partition. */
const orgs: Org[] = [];
/** How many events of the load were accepted. */
const accepted = new Map<OrgId, number>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gapless-move-'));
  databases = await Promise.all(oneTo(6).map((nth) => createTestDatabase(migrateTestDatabase, 'main', nth - 1)));
  gapless = await aGapless({ PARTITIONS: String(PARTITIONS), PROJECTION_DATABASE_URLS: '' });
  apps = [await gapless.startAll(), await gapless.startAll()];
  while (orgs.length < PARTITIONS) {
    const orgId = anOrgId();
    if (partitionOf(orgId, PARTITIONS) !== orgs.length) continue;
    orgs.push({ orgId, key: await anApiKey(apps[0]!.app.get(Store), orgId) });
  }
  for (const org of orgs) {
    for (const n of oneTo(3)) {
      await client(org).emit(oneTo(EVENTS / 3).map((m) => ({ event: 'ticket.created', data: { n, m, text: 'ä"\\' } })));
    }
  }
  await eventually(async () => {
    for (const org of orgs) expect(await client(org).feed()).toHaveLength(EVENTS);
  });
});

afterEach(() => {
  jest.restoreAllMocks();
});

afterAll(async () => {
  await gapless.stop();
  await Promise.all(databases.map((database) => database.drop()));
  rmSync(folder, { recursive: true, force: true });
});

function client(org: Org, at = 0): ApiClient {
  return new ApiClient(apps[at]!.url, org.key);
}

function urls(from: number, to: number): readonly string[] {
  return databases.slice(from, to).map(({ url }) => url);
}

function environment(list: readonly string[] = []): Readonly<Record<string, string>> {
  return { ...gapless.environment, PROJECTION_DATABASE_URLS: list.join() };
}

async function feeds(): Promise<readonly string[]> {
  return Promise.all(orgs.map((org) => client(org).feedText('since=0&limit=1000')));
}

async function moveTo(list: readonly string[], clock = systemClock) {
  const { lines, failure } = await runCommand(rebuildCommand, environment(), ['--to', list.join(), '--json'], clock);
  if (failure !== null) throw failure;
  return JSON.parse(lines[0]!) as Readonly<Record<string, unknown>> & { readonly closed_ms: number };
}

async function refusal(list: readonly string[]): Promise<string> {
  const { failure } = await runCommand(rebuildCommand, environment(), ['--to', list.join()]);
  return failure?.message ?? '';
}

/** Starts the command as a process of its own, which can be killed. */
function startMove(list: readonly string[], ...args: readonly string[]): ChildProcess {
  const path = join(folder, 'urls');
  writeFileSync(path, list.join('\n'));
  const main = resolve(ROOT, 'dist/apps/cli/src/main.js');
  return spawn(process.execPath, [main, 'rebuild', '--to-file', path, '--json', ...args], {
    env: { PATH: process.env['PATH'], ...environment() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function servedBy(app: GaplessApp): readonly string[] {
  return app.app.get(Store).feed.all.map(({ name }) => name);
}

async function verified(list: readonly string[] = []): Promise<unknown> {
  const { lines, failure } = await runCommand(verifyCommand, environment(list), ['--json']);
  if (failure !== null) throw failure;
  return (JSON.parse(lines[0]!) as { ok: boolean }).ok;
}

/** Emits, reads by cursor and by stream at both processes, until it is stopped. */
class Load {
  readonly failures: string[] = [];
  /** What was answered 503, and repeated. */
  readonly refused: string[] = [];
  /** The longest that a request for events took, and that a reader waited for the next event, milliseconds. */
  readonly longest = { emit: 0, read: 0, stream: 0 };
  readonly #lag = monitorEventLoopDelay();
  readonly #streams: { readonly seqs: number[]; close: () => void }[] = [];
  readonly #works: Promise<void>[] = [];
  #isOver = false;

  start(): void {
    this.#lag.enable();
    for (const org of orgs) {
      this.#works.push(this.#emit(org), this.#read(org));
      this.#streams.push(this.#stream(org));
    }
  }

  /** Whether the machine stopped this process for so long that the pauses say little about a move. */
  get wasBusy(): boolean {
    return this.#lag.max >= BUSY_MS * 1e6;
  }

  /** Ends emitting, and waits until every reader has seen all. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#works);
    this.#lag.disable();
    await eventually(async () => {
      for (const [at, org] of orgs.entries()) {
        const feed = await client(org).feed();
        expect(feed.map(({ seq }) => seq)).toEqual(oneTo(feed.length));
        expect(feed.filter(({ event }) => event === 'ticket.updated')).toHaveLength(accepted.get(org.orgId)!);
        expect(this.#streams[at]!.seqs).toEqual(oneTo(feed.length));
      }
    });
    for (const stream of this.#streams) stream.close();
  }

  async #emit(org: Org): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      const body = JSON.stringify({ events: [{ id: anEventId(), event: 'ticket.updated', data: { n } }] });
      await this.#answered('emit', 202, () => client(org, n % 2).request('POST', '/internal/events', body));
      accepted.set(org.orgId, (accepted.get(org.orgId) ?? 0) + 1);
      await pause(60);
    }
  }

  /** Asks both processes in turn from the event before the last one: neither may lack what the other has shown. */
  async #read(org: Org): Promise<void> {
    let last = 1;
    for (let n = 0; !this.#isOver; n++) {
      const path = `/external/events?since=${last - 1}&limit=1000`;
      const text = await this.#answered('read', 200, () => client(org, n % 2).request('GET', path));
      const seqs = (JSON.parse(text) as { data: Envelope[] }).data.map(({ seq }) => seq);
      if (seqs[0] !== last) this.failures.push(`the head went back: ${last} is missing`);
      else if (seqs.some((seq, at) => seq !== last + at)) this.failures.push(`a gap after ${last}: ${seqs.join()}`);
      else last = seqs.at(-1)!;
      await pause(40);
    }
  }

  /** Asks until the answer has this status, and notes how long that took. @returns the answer's body */
  async #answered(kind: 'emit' | 'read', wanted: number, ask: () => Promise<Answer>): Promise<string> {
    const startedAtMs = performance.now();
    for (;;) {
      const { status, text } = await ask();
      if (status === wanted) {
        this.longest[kind] = Math.max(this.longest[kind], performance.now() - startedAtMs);
        return text;
      }
      (status === 503 ? this.refused : this.failures).push(`${kind} ${status} ${text}`);
      await pause(20);
    }
  }

  #stream(org: Org) {
    const seqs: number[] = [];
    let isClosed = false;
    let close: () => void = () => undefined;
    let lastAtMs = performance.now();
    const connect = (): void => {
      if (isClosed) return;
      const headers = {
        'x-api-key': org.key,
        accept: 'text/event-stream',
        'last-event-id': String(seqs.at(-1) ?? 0),
      };
      let pending = '';
      const asked = request(`${apps[0]!.url}/api/v1/external/events`, { headers, agent: false }, (response) => {
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          const blocks = `${pending}${chunk}`.split('\n\n');
          pending = blocks.pop() ?? '';
          for (const block of blocks) {
            const id = /^id: (\d+)\nevent: /.exec(block)?.[1];
            if (id === undefined) continue;
            seqs.push(Number(id));
            if (!this.#isOver) this.longest.stream = Math.max(this.longest.stream, performance.now() - lastAtMs);
            lastAtMs = performance.now();
          }
        });
        response.on('error', () => undefined);
      });
      asked.on('error', () => undefined);
      // Also if the connection broke, as a busy process may break it.
      asked.on('close', () => setTimeout(connect, 20));
      close = () => {
        isClosed = true;
        asked.destroy();
      };
      asked.end();
    };
    connect();
    return {
      seqs,
      close: () => {
        close();
      },
    };
  }
}

/** Nothing failed, and nothing had to wait for longer than the pause, which is longer on a busy machine. */
function expectServed({ failures, refused, longest, wasBusy }: Load): void {
  expect(failures).toEqual([]);
  if (!wasBusy) expect(refused).toEqual([]);
  const longestMs = wasBusy ? LONGEST_PAUSE_IF_BUSY_MS : LONGEST_PAUSE_MS;
  expect(Object.entries(longest).filter(([, ms]) => ms >= longestMs)).toEqual([]);
}

describe('a feed that moves while everything runs', () => {
  let load: Load;

  async function under<T>(act: () => Promise<T>): Promise<T> {
    load = new Load();
    load.start();
    const done = await act();
    await load.stop();
    expectServed(load);
    return done;
  }

  it('stays where it is when the command is killed, and goes on in the next run', async () => {
    const before = servedBy(apps[0]!);
    const command = startMove(urls(0, 4));
    const main = apps[0]!.app.get(Store);
    await eventually(async () => {
      const [row] = await main.query<{ next: string | null }>(
        `select next_id as next from feed_list where announced_until > now()`,
      );
      expect(row?.next).toEqual(expect.any(String));
      const [ready] = await main.query(
        `select from pg_stat_activity where datname = current_database() and application_name like 'gapless-feed-list %'`,
      );
      expect(ready).toBeDefined();
    });
    // It would move the feed while the others are still asked.
    command.kill('SIGSTOP');
    try {
      const isUnderWay = /Another move, rebuild or repair is under way/;
      expect(await refusal(urls(4, 6))).toMatch(isUnderWay);
      for (const [other, args] of [[rebuildCommand, []] as const, [repairCommand, ['--apply']] as const]) {
        expect((await runCommand(other, environment(), args)).failure?.message).toMatch(isUnderWay);
      }
    } finally {
      command.kill('SIGKILL');
    }
    await once(command, 'exit');
    expect(servedBy(apps[0]!)).toEqual(before);
    for (const org of orgs) {
      await client(org).emit([{ event: 'ticket.created', data: {} }]);
      await eventually(async () => {
        expect(await client(org).feed()).toHaveLength(EVENTS + 1);
      });
    }
  });

  it('stays, too, when the command is killed while the feed is closed, and waits no longer than that', async () => {
    const before = servedBy(apps[0]!);
    const command = startMove(urls(0, 4));
    const main = apps[0]!.app.get(Store);
    load = new Load();
    load.start();
    await main.transaction(async (runner) => {
      // As a statement that writes the feed and does not end. The command closes the feed again and again, in vain.
      await runner.query('lock table projection_offsets in row exclusive mode');
      await eventually(
        async () => {
          const rows = await main.query('select from feed_list where closed_until > clock_timestamp()');
          expect(rows).toHaveLength(1);
        },
        { intervalMs: 5 },
      );
      command.kill('SIGKILL');
      await once(command, 'exit');
    });
    await load.stop();
    expectServed(load);
    for (const app of apps) expect(servedBy(app)).toEqual(before);
  });

  it('goes from one database to four, with a frozen process that answers from the new ones once it goes on', async () => {
    const names = urls(0, 4).map(databaseName);
    const frozen: StageProcess = await aStageProcess('api', environment());
    await frozen.ready();
    const before = await feeds();
    const moved = await under(async () => {
      const moving = moveTo(urls(0, 4));
      const main = apps[0]!.app.get(Store);
      await eventually(async () => {
        const rows = await main.query(
          `select from pg_stat_activity where datname = current_database() and application_name like 'gapless-feed-list %'`,
        );
        expect(rows).toHaveLength(3);
      });
      frozen.signal('SIGSTOP');
      return moving;
    });
    for (const app of apps) expect(servedBy(app)).toEqual(names);
    // Of the interrupted run, the events from before it are kept.
    expect(moved).toMatchObject({ processes: 3, databases: names, copied: 0 });
    expect(moved['records']).toBeLessThan(PARTITIONS * EVENTS);
    const asked = new ApiClient(frozen.url, orgs[1]!.key).feedText('since=0&limit=1000');
    // So that the request is there when the process goes on, before it has looked.
    await pause(300);
    frozen.signal('SIGCONT');
    const after = await feeds();
    expect(await asked).toBe(after[1]);
    for (const [at, text] of after.entries()) {
      expect(text.startsWith(before[at]!.slice(0, before[at]!.indexOf('],"next_seq"')))).toBe(true);
    }
    await frozen.stop();
    expect(await verified(urls(0, 4))).toBe(true);
  });

  it('is not read from the main database by a process that starts with the old list and has not looked yet', async () => {
    const port = await freePort();
    const api = new ApiClient(`http://127.0.0.1:${port}`, orgs[0]!.key);
    const answers: Answer[] = [];
    // The process has just opened the main database, and asks it next where the feed is.
    jest.spyOn(FeedPlaces.prototype, 'isInstalled').mockImplementationOnce(async () => {
      answers.push(await api.request('GET', '/external/events?since=0&limit=1000'));
      return true;
    });
    const app = await gapless.startAll({ PORT: String(port) });
    try {
      expect(answers.map(({ status }) => status)).toEqual([503]);
      expect(await api.feedText('since=0&limit=1000')).toBe((await feeds())[0]);
    } finally {
      await app.stop();
    }
  });

  it('goes from four to two, and back to the main database, however far the clock of the command is ahead', async () => {
    const clock = { now: () => systemClock.now() + 40 * 86_400_000 };
    for (const list of [urls(4, 6), [gapless.environment['DATABASE_URL']!]]) {
      const before = await feeds();
      const { events } = await under(() => moveTo(list, clock));
      expect(events).toBeGreaterThan(PARTITIONS * EVENTS);
      const after = await feeds();
      for (const [at, text] of after.entries()) {
        expect(text.startsWith(before[at]!.slice(0, before[at]!.indexOf('],"next_seq"')))).toBe(true);
      }
      for (const app of apps) expect(servedBy(app)).toEqual(list.map(databaseName));
      expect(await verified(list)).toBe(true);
    }
  });

  it('folds the log on several threads', async () => {
    const before = await feeds();
    const command = startMove(urls(4, 6), '--threads', '3');
    let printed = '';
    command.stdout!.on('data', (text: Buffer) => (printed += text.toString()));
    expect(await once(command, 'close')).toEqual([0, null]);
    expect((JSON.parse(printed) as { readonly records: number }).records).toBeGreaterThan(PARTITIONS * EVENTS);
    expect(await feeds()).toEqual(before);
    await moveTo([gapless.environment['DATABASE_URL']!]);
    expect(await feeds()).toEqual(before);
  });

  it('says that the feed has moved when the command is run again', async () => {
    const list = [gapless.environment['DATABASE_URL']!];
    const { lines, failure } = await runCommand(rebuildCommand, environment(), ['--to', list.join()]);
    expect(failure).toBeNull();
    expect(lines[0]).toBe('The feed is in these databases already.');
    expect(lines[3]).toContain(`The feed has left ${urls(4, 6).map(databaseName).join(', ')}.`);
  });

  it('refuses databases that cannot be used, and says what to do', async () => {
    const [main] = [gapless.environment['DATABASE_URL']!];
    expect(await refusal([main, urls(0, 1)[0]!])).toMatch(/is part of the feed now\. Name a database that is not/);
    expect(await refusal([main.replace('127.0.0.1', 'localhost')])).toMatch(/part of the feed now|two names/);
    expect(await refusal(['postgres://gapless@127.0.0.1:1/none'])).toMatch(/cannot be used.*Nothing was changed/);
    expect(await refusal(oneTo(5).map((n) => `${main}${n}`))).toMatch(/4 partitions/);
    const unread = await runCommand(rebuildCommand, environment(), ['--to-file', '/nonexistent']);
    expect(unread.failure?.message).toBe('cannot read /nonexistent: ENOENT');
    const foreign = await createTestDatabase(migrateTestDatabase);
    const other = await aGapless({ DATABASE_URL: foreign.url, PARTITIONS: '3', PROJECTION_DATABASE_URLS: '' });
    await (await other.startAll()).stop();
    expect(await refusal([foreign.url])).toMatch(/belongs to installation .*Name an empty database/);
    await other.stop();
    await foreign.drop();
  });

  it('is used by a process that starts with a list that the feed has left, and not with another one', async () => {
    const app = await gapless.startAll({ PROJECTION_DATABASE_URLS: urls(0, 4).join() });
    expect(servedBy(app)).toEqual([databaseName(gapless.environment['DATABASE_URL']!)]);
    await expect(gapless.startAll({ PROJECTION_DATABASE_URLS: urls(0, 3).join() })).rejects.toThrow(
      /names .* but the feed of this installation is in/,
    );
    await app.stop();
  });

  it('is built in a new database while nothing runs, even if processes may not migrate it', async () => {
    const before = await feeds();
    const empty = await createTestDatabase(() => Promise.resolve(), 'empty');
    databases = [...databases, empty];
    await Promise.all(apps.map((app) => app.stop()));
    const settings = { ...environment([empty.url]), MIGRATE_AT_START: 'false' };
    await eventually(async () => {
      const { failure } = await runCommand(rebuildCommand, settings, ['--assign-places']);
      if (failure !== null) throw failure;
    });
    apps = [await gapless.startAll({ PROJECTION_DATABASE_URLS: empty.url })];
    expect(servedBy(apps[0]!)).toEqual([databaseName(empty.url)]);
    expect(await feeds()).toEqual(before);
  });
});
