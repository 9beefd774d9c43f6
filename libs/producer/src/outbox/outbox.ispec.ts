import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Kafka } from 'kafkajs';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { anOrgId } from '../../../../test/support/ids.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { ApiError } from '../../../api-client/src/index.js';
import type { EventSink } from '../events/event-sink.js';
import type { NewEvent } from '../events/new-event.js';
import type { ReadyEvent } from '../events/ready-event.js';
import { HttpSink } from '../http/http-sink.js';
import { KafkaSink } from '../kafka/kafka-sink.js';
import { emitInTransaction, GaplessOutbox1700000000000, OutboxRelay } from './index.js';

function anEvent(orgId: string, n: number, text = ''): NewEvent {
  return { event: 'ticket.updated', org_id: orgId, data: { n, text } };
}

function numberOf({ json }: ReadyEvent): number {
  return (JSON.parse(json) as { data: { n: number } }).data.n;
}

interface Submitted {
  readonly id: string;
  readonly data: { readonly n: number };
}

/** Answers 202 with the ids of the events, or a page with another status. */
function answering(statusFor: (events: readonly Submitted[]) => number): RequestListener {
  return (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      const { events } = JSON.parse(body) as { events: readonly Submitted[] };
      const status = statusFor(events);
      if (status !== 202) response.writeHead(status).end('<html>');
      else {
        const answer = JSON.stringify({ data: events.map(({ id }) => ({ id })) });
        response.writeHead(202, { 'content-type': 'application/json' }).end(answer);
      }
    });
  };
}

/** Keeps what it is sent. */
class FakeSink implements EventSink {
  readonly sent: ReadyEvent[] = [];
  /** Decides about each batch before it counts as sent. */
  gate: (events: readonly ReadyEvent[]) => Promise<void> | void = () => undefined;

  async send(events: readonly ReadyEvent[]): Promise<void> {
    await this.gate(events);
    this.sent.push(...events);
  }

  /** The numbers that were sent of the organization, repeats by their first time. */
  numbers(orgId: string): readonly number[] {
    return [...new Set(this.sent.filter((event) => event.orgId === orgId).map(numberOf))];
  }
}

describe('the outbox', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let sink: FakeSink;
  let refused: string[];
  let errors: unknown[];
  let servers: Server[];

  beforeAll(async () => {
    database = await createTestDatabase(() => Promise.resolve(), 'empty');
    dataSource = new DataSource({ type: 'postgres', url: database.url, migrations: [GaplessOutbox1700000000000] });
    await dataSource.initialize();
    await dataSource.runMigrations();
    await dataSource.query('create table tickets (n integer not null)');
  });

  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  beforeEach(() => {
    sink = new FakeSink();
    refused = [];
    errors = [];
    servers = [];
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    for (const server of servers) server.close().closeAllConnections();
    await dataSource.query('truncate tickets, gapless_outbox');
  });

  function aRelay(to: EventSink = sink): OutboxRelay {
    return new OutboxRelay({
      dataSource,
      sink: to,
      onError: (error) => void errors.push(error),
      onRefused: (id) => void refused.push(id),
      pollIntervalMs: 5,
    });
  }

  /** Starts a server, and returns its URL. */
  async function aServer(answer: RequestListener): Promise<string> {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Writes a ticket and its event in one transaction. */
  async function change(orgId: string, n: number, fail = false): Promise<string> {
    return dataSource.transaction(async (manager) => {
      await manager.query('insert into tickets (n) values ($1)', [n]);
      const id = await emitInTransaction(manager, anEvent(orgId, n));
      if (fail) throw new Error('rolled back');
      return id;
    });
  }

  async function waiting(): Promise<number> {
    const [row] = await dataSource.query<{ count: string }[]>('select count(*) from gapless_outbox');
    return Number(row?.count);
  }

  it('emits an event if its transaction commits, and only then', async () => {
    const orgId = anOrgId();
    const id = await change(orgId, 1);
    await expect(change(orgId, 2, true)).rejects.toThrow('rolled back');
    expect(await aRelay().relay()).toBe(1);
    expect(sink.sent).toMatchObject([{ id, orgId }]);
    expect(JSON.parse(sink.sent[0]!.json)).toMatchObject({ id, event: 'ticket.updated', data: { n: 1 } });
    expect(await waiting()).toBe(0);
    expect(await aRelay().relay()).toBe(0);
  });

  it('does not write outside of a transaction', async () => {
    await expect(emitInTransaction(dataSource.manager, anEvent(anOrgId(), 1))).rejects.toThrow(/transaction/);
    expect(await waiting()).toBe(0);
  });

  it('keeps what could not be sent, and sends it again as the same event', async () => {
    const orgId = anOrgId();
    const id = await change(orgId, 1);
    sink.gate = () => {
      throw new ApiError('unavailable', 503, 'unavailable', '');
    };
    await expect(aRelay().relay()).rejects.toThrow(ApiError);
    expect(await waiting()).toBe(1);
    // Sent, but the relay dies before it can take the event from the table.
    sink.gate = () => undefined;
    const dying: EventSink = {
      async send(events) {
        await sink.send(events);
        throw new Error('killed');
      },
    };
    await expect(aRelay(dying).relay()).rejects.toThrow('killed');
    await aRelay().relay();
    expect(sink.sent.map((event) => event.id)).toEqual([id, id]);
    expect(await waiting()).toBe(0);
  });

  it.each([200, 301, 403, 404, 422])('keeps what another server has answered with a page and %i', async (status) => {
    await change(anOrgId(), 1);
    const baseUrl = await aServer((_request, response) => response.writeHead(status).end('<html>'));
    await expect(aRelay(new HttpSink({ baseUrl, apiKey: 'gk_1' })).relay()).rejects.toThrow(/base url/);
    expect(await waiting()).toBe(1);
    expect(refused).toEqual([]);
  });

  it('sends a backlog of large events to a service that limits requests, in order', async () => {
    const orgId = anOrgId();
    const text = 'x'.repeat(100 * 1024);
    await dataSource.transaction(async (manager) => {
      for (const n of oneTo(100)) await emitInTransaction(manager, anEvent(orgId, n, text));
    });
    let left = 0;
    const accepted: number[] = [];
    const baseUrl = await aServer(
      answering((events) => {
        if (left-- <= 0) return 429;
        accepted.push(...events.map(({ data }) => data.n));
        return 202;
      }),
    );
    const relay = aRelay(new HttpSink({ baseUrl, apiKey: 'gk_1' }));
    for (let round = 0; round < 3; round++) {
      left = 2;
      await relay.relay().catch((error: unknown) => errors.push(error));
    }
    expect([errors, accepted, await waiting()]).toEqual([[], oneTo(100), 0]);
  });

  it('sends an event alone that is larger than a request', async () => {
    const orgId = anOrgId();
    const [large] = [await change(orgId, 1), await change(orgId, 2), await change(anOrgId(), 3)];
    const padding = ' '.repeat(5 * 1024 ** 2);
    await dataSource.query('update gapless_outbox set event = event || $2 where event_id = $1', [large, padding]);
    expect([await aRelay().relay(), await aRelay().relay()]).toEqual([1, 2]);
    expect(sink.sent.map(numberOf)).toEqual([1, 2, 3]);
  });

  it('sends fewer events at once when a proxy finds the request too large', async () => {
    for (const n of [1, 2]) await change(anOrgId(), n);
    const baseUrl = await aServer(answering((events) => (events.length > 1 ? 413 : 202)));
    expect(await aRelay(new HttpSink({ baseUrl, apiKey: 'gk_1' })).relay()).toBe(2);
    expect(await waiting()).toBe(0);
    expect(refused).toEqual([]);
  });

  it.each([200, 302, 400, 403, 406, 413, 422])(
    'lets an event that a proxy answers with a page and %i wait with its organization alone',
    async (status) => {
      const [blocked, other] = [anOrgId(), anOrgId()];
      for (const n of [1, 2]) await change(blocked, n);
      for (const n of [3, 4]) await change(other, n);
      sink.gate = (events) => {
        if (events.some((event) => numberOf(event) === 1))
          throw new ApiError('unavailable', status, 'unknown', 'a page');
      };
      expect(await aRelay().relay()).toBe(2);
      expect([sink.numbers(blocked), sink.numbers(other)]).toEqual([[], [3, 4]]);
      expect([errors.length, refused.length, await waiting()]).toEqual([1, 0, 2]);
      await expect(aRelay().relay()).rejects.toThrow('a page');
      sink.gate = () => undefined;
      await aRelay().relay();
      expect(sink.numbers(blocked)).toEqual([1, 2]);
    },
  );

  it.each([
    [251, 0],
    [20, 250 * 1024],
  ])(
    'lets no other organization wait for %i events of %i bytes after one that a proxy refuses',
    async (count, bytes) => {
      const [blocked, other] = [anOrgId(), anOrgId()];
      const text = 'x'.repeat(bytes);
      await dataSource.transaction(async (manager) => {
        for (const n of oneTo(count)) await emitInTransaction(manager, anEvent(blocked, n, text));
        for (const n of [1, 2]) await emitInTransaction(manager, anEvent(other, n));
      });
      sink.gate = (events) => {
        if (events.some((event) => event.orgId === blocked && numberOf(event) === 1))
          throw new ApiError('unavailable', 403, 'unknown', 'a page');
      };
      const controller = new AbortController();
      const running = aRelay().run(controller.signal);
      await eventually(async () => {
        expect([sink.numbers(other), await waiting()]).toEqual([[1, 2], count]);
      });
      expect([sink.numbers(blocked), refused]).toEqual([[], []]);
      sink.gate = () => undefined;
      await eventually(async () => {
        expect(await waiting()).toBe(0);
      });
      controller.abort();
      await running;
      expect(sink.numbers(blocked)).toEqual(oneTo(count));
    },
  );

  it('lets no organization wait for many whose events a proxy refuses, and tries each of them again', async () => {
    const [other, blocked] = [anOrgId(), oneTo(12).map(anOrgId)];
    for (const orgId of blocked) await change(orgId, 1);
    await change(other, 2);
    const tries = new Map<string, number>();
    sink.gate = (events) => {
      const [first] = events;
      if (first !== undefined && events.length === 1) tries.set(first.orgId, (tries.get(first.orgId) ?? 0) + 1);
      if (events.some((event) => numberOf(event) === 1)) throw new ApiError('unavailable', 403, 'unknown', 'a page');
    };
    const controller = new AbortController();
    const running = aRelay().run(controller.signal);
    await eventually(() => {
      expect(sink.numbers(other)).toEqual([2]);
      for (const orgId of blocked) expect(tries.get(orgId)).toBeGreaterThan(1);
    });
    controller.abort();
    await running;
    expect(await waiting()).toBe(blocked.length);
  });

  it('gives up soon while a proxy answers everything with a page', async () => {
    for (const n of oneTo(15)) await change(anOrgId(), n);
    let requests = 0;
    sink.gate = () => {
      requests++;
      throw new ApiError('unavailable', 403, 'unknown', 'a page');
    };
    await expect(aRelay().relay()).rejects.toThrow('a page');
    expect(requests).toBe(12);
    expect(await waiting()).toBe(15);
  });

  it('puts aside what will never be accepted, and goes on with the rest', async () => {
    const orgId = anOrgId();
    for (const n of [1, 2, 3]) await change(orgId, n);
    const problems = [{ pointer: '#/events/0/data', code: 'required', detail: 'is required' }];
    sink.gate = (events) => {
      if (events.some((event) => numberOf(event) === 2)) {
        throw new ApiError('refused', 422, 'validation_failed', 'no', problems);
      }
    };
    await aRelay().relay();
    expect(sink.numbers(orgId)).toEqual([1, 3]);
    expect(refused).toHaveLength(1);
    const rows = await dataSource.query<{ event_id: string; refusal: string }[]>(
      'select event_id, refusal from gapless_outbox where refused_at is not null',
    );
    expect(rows).toEqual([{ event_id: refused[0], refusal: '422 validation_failed no; #/events/0/data is required' }]);
    expect(await aRelay().relay()).toBe(0);
  });

  it('sends refused events again, with the same ids, when they are no longer marked', async () => {
    const orgId = anOrgId();
    const ids = [await change(orgId, 1), await change(orgId, 2), await change(orgId, 3)];
    sink.gate = (events) => {
      if (events.some((event) => numberOf(event) < 3)) throw new ApiError('refused', 422, 'unknown_event_type', '');
    };
    await aRelay().relay();
    expect(refused).toEqual(ids.slice(0, 2));
    sink.gate = () => undefined;
    await dataSource.query('update gapless_outbox set refused_at = null, refusal = null where refused_at is not null');
    await change(orgId, 4);
    expect(await aRelay().relay()).toBe(3);
    expect(sink.numbers(orgId)).toEqual([3, 1, 2, 4]);
    expect(sink.sent.slice(1, 3).map((event) => event.id)).toEqual(ids.slice(0, 2));
    expect(await waiting()).toBe(0);
  });

  it('finds an invalid event among many, though the service soon limits requests', async () => {
    const orgId = anOrgId();
    for (const n of oneTo(6)) await change(orgId, n);
    let left = 0;
    sink.gate = (events) => {
      if (left-- === 0) throw new ApiError('unavailable', 429, 'rate_limited', '');
      if (events.some((event) => numberOf(event) === 6)) throw new ApiError('refused', 422, 'validation_failed', '');
    };
    for (let round = 0; round < 3; round++) {
      left = 3;
      expect(await aRelay().relay()).toBe(2);
    }
    expect(sink.sent.map(numberOf)).toEqual([1, 2, 3, 4, 5]);
    expect(refused).toHaveLength(1);
    expect(await aRelay().relay()).toBe(0);
  });

  it('warns of a sink whose repeats Gapless does not always recognize', () => {
    const warnings: string[] = [];
    jest.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)));
    aRelay(new HttpSink({ baseUrl: 'http://127.0.0.1', apiKey: 'gk_1' }));
    expect(warnings).toEqual([]);
    aRelay(new KafkaSink({ kafka: new Kafka({ brokers: ['127.0.0.1:1'] }) }));
    expect(warnings).toEqual([expect.stringMatching(/append an event twice.*Use an HttpSink/)]);
  });

  it('keeps everything when it is the key that is refused', async () => {
    await change(anOrgId(), 1);
    sink.gate = () => {
      throw new ApiError('refused', 403, 'insufficient_scope', '');
    };
    await expect(aRelay().relay()).rejects.toThrow(ApiError);
    expect(await waiting()).toBe(1);
    expect(refused).toEqual([]);
  });

  it('lets no second relay near an organization, and none wait for another organization', async () => {
    const [busy, other] = [anOrgId(), anOrgId()];
    await change(busy, 1);
    let proceed: () => void = () => undefined;
    const held = new FakeSink();
    held.gate = () =>
      new Promise((resolve) => {
        proceed = resolve;
      });
    const first = aRelay(held).relay();
    await eventually(async () => {
      const [row] = await dataSource.query<{ count: string }[]>(
        'select count(*) from (select from gapless_outbox for update skip locked) free',
      );
      expect(Number(row?.count)).toBe(0);
    });
    await change(busy, 2);
    await change(other, 1);
    expect(await aRelay().relay()).toBe(1);
    expect([sink.numbers(busy), sink.numbers(other)]).toEqual([[], [1]]);
    proceed();
    await first;
    await aRelay().relay();
    expect([...held.numbers(busy), ...sink.numbers(busy)]).toEqual([1, 2]);
  });

  it('keeps the order of each organization with several relays, failures and writers at once', async () => {
    const orgs = oneTo(5).map(anOrgId);
    let batches = 0;
    sink.gate = () => {
      if (++batches % 7 === 0) throw new ApiError('unavailable', 503, 'unavailable', '');
    };
    const controller = new AbortController();
    // Failures are what this is about, and not how long one waits after them.
    const relays = oneTo(3).map(async () => {
      const relay = aRelay();
      while (!controller.signal.aborted) await relay.relay().catch(() => undefined);
    });
    const write = async (orgId: string) => {
      for (const n of oneTo(100)) await change(orgId, n);
    };
    await Promise.all(orgs.map(write));
    await eventually(async () => {
      expect(await waiting()).toBe(0);
    });
    controller.abort();
    await Promise.all(relays);
    for (const orgId of orgs) expect(sink.numbers(orgId)).toEqual(oneTo(100));
  });

  it('is relayed until it is stopped, whatever fails on the way', async () => {
    const orgId = anOrgId();
    sink.gate = () => {
      sink.gate = () => undefined;
      throw new Error('away');
    };
    const controller = new AbortController();
    const running = aRelay().run(controller.signal);
    await change(orgId, 1);
    await eventually(() => {
      expect(sink.numbers(orgId)).toEqual([1]);
    });
    controller.abort();
    await running;
  });

  it('stops at once while the service does not answer, and the event still waits', async () => {
    let requests = 0;
    const baseUrl = await aServer(() => {
      requests++;
    });
    await change(anOrgId(), 1);
    const controller = new AbortController();
    const running = aRelay(new HttpSink({ baseUrl, apiKey: 'gk_1' })).run(controller.signal);
    await eventually(() => {
      expect(requests).toBe(1);
    });
    const stoppedMs = performance.now();
    controller.abort();
    await running;
    // A machine may be busy. The service has 20 s to answer.
    expect(performance.now() - stoppedMs).toBeLessThan(10_000);
    expect(errors).toEqual([]);
    expect(await waiting()).toBe(1);
  });

  it('waits as long as the service asks to, and holds no event meanwhile', async () => {
    let requests = 0;
    const baseUrl = await aServer((_request, response) => {
      requests++;
      response.writeHead(503, { 'retry-after': '600' }).end();
    });
    await change(anOrgId(), 1);
    const controller = new AbortController();
    const running = aRelay(new HttpSink({ baseUrl, apiKey: 'gk_1' })).run(controller.signal);
    await eventually(() => {
      expect(errors).toMatchObject([{ status: 503, retryAfterMs: 600_000 }]);
    });
    const free = await dataSource.query<unknown[]>('select from gapless_outbox for update skip locked');
    expect(free).toHaveLength(1);
    // Longer than the first back-off.
    await delay(1_000);
    controller.abort();
    await running;
    expect(requests).toBe(1);
  });

  it('goes on when its callbacks throw', async () => {
    const orgId = anOrgId();
    const broken = () => {
      throw new TypeError('log is undefined');
    };
    for (const n of [1, 2]) await change(orgId, n);
    sink.gate = () => {
      sink.gate = (events) => {
        if (events.some((event) => numberOf(event) === 1)) throw new ApiError('refused', 422, 'validation_failed', '');
      };
      throw new Error('away');
    };
    const relay = new OutboxRelay({ dataSource, sink, onError: broken, onRefused: broken, pollIntervalMs: 5 });
    const controller = new AbortController();
    const running = relay.run(controller.signal);
    await eventually(() => {
      expect(sink.numbers(orgId)).toEqual([2]);
    });
    controller.abort();
    await running;
  });

  it('has a table that can be taken away', async () => {
    await dataSource.undoLastMigration();
    expect(await dataSource.query(`select to_regclass('gapless_outbox') as found`)).toEqual([{ found: null }]);
    await dataSource.runMigrations();
  });
});
