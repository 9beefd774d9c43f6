import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import type { OrgId } from '#libs/domain';
import { ApiClient, type Answer, type Envelope, type Submission } from '../support/api-client.js';
import { anApiKey } from '../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../support/gapless.js';
import { anEventId, anOrgId } from '../support/ids.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { aPrivateKafka, type PrivateKafka } from '../support/private-kafka.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { scrape, valueOf } from '../support/scrape.js';
import { oneTo } from '../support/sequence.js';
import { aStageProcess, type StageProcess } from '../support/stage-process.js';
import { aStore } from '../support/store.js';
import { aTcpProxy, type TcpProxy } from '../support/tcp-proxy.js';

/** Longer than any back-off. Publishers repeat an event for so long: longer than an outage lasts on a busy machine. */
const RECOVERY_MS = 150_000;
/** A caller is not kept waiting for a server that is away … */
const ANSWER_MS = 30_000;
/** … and not for ever for one that takes requests and never answers. */
const FROZEN_ANSWER_MS = 60_000;
/** Of a test in which a server goes away and comes back under load. */
const OUTAGE_TEST_MS = 600_000;

let kafka: PrivateKafka;
let postgres: TcpProxy;
let gapless: GaplessUnderTest;
let service: StageProcess;
let orgId: OrgId;
let key: string;
let api: ApiClient;
let receiver: Receiver;
const publishing: Publishers[] = [];

beforeAll(async () => {
  kafka = await aPrivateKafka({ runs: false });
  // It cuts the way to one database. Several have a test of their own.
  gapless = await aGapless({ KAFKA_BROKERS: kafka.brokers, PROJECTION_DATABASE_URLS: '' });
  postgres = await aTcpProxy(gapless.environment['DATABASE_URL']!);
  orgId = anOrgId();
  const store = aStore(gapless.environment['DATABASE_URL']!);
  await store.open(() => undefined);
  key = await anApiKey(store, orgId);
  await store.close();
  receiver = await aReceiver();
  service = await aStageProcess('standalone', { ...gapless.environment, DATABASE_URL: postgres.url });
  api = new ApiClient(service.url, key);
});

afterAll(async () => {
  await Promise.allSettled(publishing.map((publishers) => publishers.finish()));
  await postgres.close();
  await service.stop();
  await kafka.remove();
  await gapless.stop();
  await receiver.close();
});

interface Readiness {
  readonly status: string;
  readonly parts: Readonly<Record<string, { readonly status: string; readonly reason?: string }>>;
}

async function readiness(): Promise<Readiness & { readonly code: number }> {
  const response = await fetch(`${service.url}/health/ready`);
  return { ...((await response.json()) as Readiness), code: response.status };
}

async function isLive(): Promise<boolean> {
  return (await fetch(`${service.url}/health/live`)).status === 200;
}

/** 503 `unavailable` (contract 8). */
function expectUnavailable(answer: Answer): void {
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  const problem = JSON.parse(answer.text) as Record<string, unknown>;
  expect(problem).toMatchObject({ status: 503, code: 'unavailable' });
  // No stack, SQL or host name leaks.
  expect(answer.text).not.toMatch(/127\.0\.0\.1|ECONN|select|postgres|kafka|\.js|\.ts/i);
}

function emit(events: readonly Submission[]): Promise<Answer> {
  return api.request('POST', '/internal/events', JSON.stringify({ events }));
}

/** Asks as an agent does (contract 5.9). */
async function askAsAgent(): Promise<Answer> {
  const response = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function timed(act: () => Promise<Answer>): Promise<Answer & { readonly tookMs: number }> {
  const startedAt = performance.now();
  const answer = await act();
  return { ...answer, tookMs: performance.now() - startedAt };
}

/** Publishers that send named events until the test stops them, and repeat refused ones as the answers say. */
class Publishers {
  readonly acknowledged: string[] = [];
  readonly refusals: Answer[] = [];
  #isOver = false;
  readonly #work: Promise<unknown>;

  constructor(count: number) {
    this.#work = Promise.all(oneTo(count).map(() => this.#publish()));
    // Its failure is met by `finish`, which a test that fails before does not reach.
    this.#work.catch(() => undefined);
    publishing.push(this);
  }

  async finish(): Promise<void> {
    this.#isOver = true;
    await this.#work;
  }

  async #publish(): Promise<void> {
    while (!this.#isOver) {
      const events = oneTo(5).map((n) => ({ id: anEventId(), event: 'ticket.created', data: { n } }));
      const isAcknowledged = await eventually(
        async () => {
          const answer = await emit(events);
          if (answer.status === 503) this.refusals.push(answer);
          // A refusal at the end is nobody's loss.
          if (!this.#isOver) expect(answer.status).toBe(202);
          return answer.status === 202;
        },
        { timeoutMs: RECOVERY_MS, intervalMs: 200 },
      );
      if (isAcknowledged) this.acknowledged.push(...events.map(({ id }) => id));
    }
  }
}

async function expectNothingLost(publishers: Publishers): Promise<void> {
  const wanted = new Set(publishers.acknowledged);
  await eventually(
    async () => {
      const found = new Set((await api.feed()).map(({ id }) => id));
      expect([...wanted].filter((id) => !found.has(id))).toEqual([]);
    },
    { timeoutMs: RECOVERY_MS, intervalMs: 200 },
  );
  const feed = await api.feed();
  expect(feed.map(({ seq }) => seq)).toEqual(oneTo(feed.length));
  expect(new Set(feed.map(({ id }) => id)).size).toBe(feed.length);
  await eventually(
    () => {
      const pushed = new Set(receiver.received.map(({ headers }) => String(headers['x-service-event-id'])));
      expect([...wanted].filter((id) => !pushed.has(id))).toEqual([]);
    },
    { timeoutMs: RECOVERY_MS, intervalMs: 200 },
  );
}

/** The same attempt may be made again; it is then the same in all that names it. */
function expectRepeatedAtMost(feed: readonly Envelope[]): void {
  const envelopes = new Map(feed.map((envelope) => [envelope.id, envelope]));
  for (const { headers, body } of receiver.received) {
    expect(headers['x-service-attempt']).toBe('1');
    expect(JSON.parse(body.toString())).toEqual(envelopes.get(String(headers['x-service-event-id'])));
  }
}

// One story, in order: each part begins where the one before it ended.
describe('a service whose Kafka and Postgres are not there yet', () => {
  it('lives, and says that it is not ready and why', async () => {
    await eventually(async () => {
      expect(await isLive()).toBe(true);
      const { code, status, parts } = await readiness();
      expect({ code, status }).toEqual({ code: 503, status: 'waiting' });
      for (const part of ['kafka', 'postgres']) {
        expect(parts[part]).toEqual({ status: 'waiting', reason: expect.stringMatching(/ECONNREFUSED|connect/) });
      }
    });
  });

  it('logs that it waits', async () => {
    await eventually(() => {
      for (const msg of ['kafka.waiting', 'postgres.waiting']) {
        const line = service.log.find((entry) => entry['msg'] === msg);
        expect(line).toMatchObject({ level: 'warn', reason: expect.any(String), wait_ms: expect.any(Number) });
      }
    });
  });

  it('answers 503 unavailable with Retry-After', async () => {
    expectUnavailable(await api.request('GET', '/external/events'));
    expectUnavailable(await api.request('GET', '/external/webhooks'));
    expectUnavailable(await emit([{ event: 'ticket.created', data: {} }]));
    expectUnavailable(await askAsAgent());
  });

  it('serves the feed once Postgres is there, and still takes no events', async () => {
    await postgres.open();
    await eventually(
      async () => {
        expect((await readiness()).parts['postgres']).toEqual({ status: 'ready' });
      },
      { timeoutMs: RECOVERY_MS },
    );
    expect((await readiness()).code).toBe(503);
    expect(await api.feed()).toEqual([]);
    const refused = await timed(() => emit([{ event: 'ticket.created', data: {} }]));
    expectUnavailable(refused);
    expect(refused.tookMs).toBeLessThan(ANSWER_MS);
  });

  it('becomes ready when Kafka comes, and works', async () => {
    await kafka.start();
    await service.ready(RECOVERY_MS);
    await api.createWebhook({ url: receiver.url, events: ['ticket.created'] });
    const publishers = new Publishers(1);
    await eventually(() => {
      expect(publishers.acknowledged.length).toBeGreaterThan(0);
    });
    await publishers.finish();
    await expectNothingLost(publishers);
  });
});

describe('a service that runs all stages', () => {
  it('reports the metrics of all of them in one place', async () => {
    const oneOfEachStage = [
      ['gapless_http_requests_total', {}],
      ['gapless_produced_records_total', { topic: 'log' }],
      ['gapless_deliveries_scheduled_total', {}],
      ['gapless_attempts_total', { outcome: 'delivered' }],
      ['gapless_projection_transaction_seconds', { projection: 'feed' }],
      ['process_resident_memory_bytes', {}],
    ] as const;
    // An attempt is counted when its answer has come, so a little later than the receiver has it.
    await eventually(async () => {
      const samples = await scrape(service.url);
      for (const [name, labels] of oneOfEachStage) expect(valueOf(samples, name, labels)).toBeGreaterThan(0);
      expect(valueOf(samples, 'gapless_ready')).toBe(1);
    });
  });
});

describe('a service whose Kafka goes away in the middle of pushes and submissions', () => {
  it(
    'refuses what it cannot write, and loses nothing that it has acknowledged',
    async () => {
      // Some pushes are on their way for long enough to be answered while Kafka is away.
      receiver.answer = (_request, response) => {
        setTimeout(() => response.end(), receiver.received.length % 3 === 0 ? 1_500 : 0);
      };
      const publishers = new Publishers(10);
      await eventually(() => {
        expect(publishers.acknowledged.length).toBeGreaterThan(100);
      });
      await kafka.stop();
      await eventually(() => {
        expect(publishers.refusals.length).toBeGreaterThan(0);
      });
      expect(await isLive()).toBe(true);
      for (const refusal of publishers.refusals) expectUnavailable(refusal);
      // What Postgres holds is served all the while.
      expect((await api.feed()).length).toBeGreaterThan(0);
      await eventually(
        async () => {
          const away = { status: 'degraded', reason: expect.stringMatching(/connect/i) };
          expect((await readiness()).parts).toMatchObject({ kafka: away, 'push/kafka': away });
        },
        { timeoutMs: FROZEN_ANSWER_MS },
      );
      await kafka.start();
      const before = publishers.acknowledged.length;
      await eventually(
        () => {
          expect(publishers.acknowledged.length).toBeGreaterThan(before + 100);
        },
        { timeoutMs: RECOVERY_MS },
      );
      await publishers.finish();
      await expectNothingLost(publishers);
      expectRepeatedAtMost(await api.feed());
      await service.ready(RECOVERY_MS);
      await eventually(async () => {
        const { parts } = await readiness();
        expect([parts['kafka'], parts['push/kafka']]).toEqual([{ status: 'ready' }, { status: 'ready' }]);
        expect(service.log.map(({ msg }) => msg)).toContain('kafka.back');
      });
    },
    OUTAGE_TEST_MS,
  );
});

async function expectPostgresReported(): Promise<void> {
  await eventually(
    async () => {
      const { code, parts } = await readiness();
      expect(code).toBe(503);
      for (const part of ['postgres', 'push/postgres']) {
        expect(parts[part]).toEqual({ status: 'waiting', reason: expect.stringMatching(/connect|timeout|Connection/) });
      }
    },
    { timeoutMs: FROZEN_ANSWER_MS },
  );
}

describe('a service whose Postgres goes away while nothing happens', () => {
  it('says so, and when it is back', async () => {
    await service.ready(RECOVERY_MS);
    await postgres.close();
    await expectPostgresReported();
    await postgres.open();
    await service.ready(RECOVERY_MS);
    await eventually(() => {
      expect(service.log.map(({ msg }) => msg)).toContain('postgres.back');
    });
  });
});

describe('a service whose Postgres lacks a table', () => {
  it('names it, answers 503, and goes on once it is back', async () => {
    await service.ready(RECOVERY_MS);
    const admin = new Client({ connectionString: gapless.environment['DATABASE_URL']! });
    await admin.connect();
    await admin.query('alter table feed_days rename to feed_days_away; alter table events rename to events_away');
    await eventually(
      async () => {
        const { parts } = await readiness();
        const reason = expect.stringContaining('the schema lacks events, feed_days: see "A table is gone"');
        expect(parts['postgres']).toEqual({ status: 'waiting', reason });
      },
      { timeoutMs: RECOVERY_MS },
    );
    expectUnavailable(await api.request('GET', '/external/events?limit=1'));
    await admin.query('alter table feed_days_away rename to feed_days; alter table events_away rename to events');
    await admin.end();
    await service.ready(RECOVERY_MS);
    expect((await api.request('GET', '/external/events?limit=1')).status).toBe(200);
  });
});

describe('a service whose Postgres takes no writes, as of managed databases whose disk is full', () => {
  it('says so, answers 503 to what needs one, and goes on by itself', async () => {
    await service.ready(RECOVERY_MS);
    const database = new URL(gapless.environment['DATABASE_URL']!).pathname.slice(1);
    const admin = new Client({ connectionString: gapless.environment['DATABASE_URL']! });
    await admin.connect();
    await admin.query('set default_transaction_read_only = off');
    await admin.query(`alter database "${database}" set default_transaction_read_only = on`);
    await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
      [database],
    );
    await eventually(
      async () => {
        const { parts } = await readiness();
        for (const part of ['postgres', 'push/postgres']) {
          expect(parts[part]).toEqual({ status: 'degraded', reason: expect.stringContaining('takes no writes') });
        }
      },
      { timeoutMs: RECOVERY_MS },
    );
    const event = { id: anEventId(), event: 'ticket.created', data: {} };
    // Events go to Kafka.
    expect(await emit([event])).toMatchObject({ status: 202 });
    const webhook = JSON.stringify({ url: receiver.url, events: ['ticket.reply'] });
    expectUnavailable(await api.request('POST', '/external/webhooks', webhook));
    expect((await api.request('GET', '/external/events?limit=1')).status).toBe(200);
    await admin.query(`alter database "${database}" reset default_transaction_read_only`);
    await admin.end();
    await service.ready(RECOVERY_MS);
    await eventually(
      async () => {
        expect((await readiness()).parts['postgres']).toEqual({ status: 'ready' });
        expect((await api.feed()).map(({ id }) => id)).toContain(event.id);
      },
      { timeoutMs: RECOVERY_MS },
    );
  });
});

describe('a service whose Postgres goes away in the middle of pushes and submissions', () => {
  it.each([
    { how: 'is cut off', leave: () => postgres.close(), answerMs: ANSWER_MS },
    {
      how: 'freezes',
      leave: () => {
        postgres.freeze();
        return Promise.resolve();
      },
      answerMs: FROZEN_ANSWER_MS,
    },
  ])(
    'and $how: it answers 503, and loses nothing',
    async ({ leave, answerMs }) => {
      receiver.answer = (_request, response) => response.end();
      const publishers = new Publishers(10);
      await eventually(() => {
        expect(publishers.acknowledged.length).toBeGreaterThan(100);
      });
      await leave();
      const read = await timed(() => api.request('GET', '/external/events'));
      expectUnavailable(read);
      expect(read.tookMs).toBeLessThan(answerMs);
      await eventually(
        () => {
          expect(publishers.refusals.length).toBeGreaterThan(0);
        },
        { timeoutMs: answerMs },
      );
      for (const refusal of publishers.refusals) expectUnavailable(refusal);
      await expectPostgresReported();
      expect(await isLive()).toBe(true);
      await postgres.close();
      await postgres.open();
      const before = publishers.acknowledged.length;
      await eventually(
        () => {
          expect(publishers.acknowledged.length).toBeGreaterThan(before + 100);
        },
        { timeoutMs: RECOVERY_MS },
      );
      await publishers.finish();
      await expectNothingLost(publishers);
      expectRepeatedAtMost(await api.feed());
      await service.ready(RECOVERY_MS);
    },
    OUTAGE_TEST_MS,
  );
});
