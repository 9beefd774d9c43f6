import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { ApiKeyId, EventId, OrgId, Seq, WidgetId } from '#libs/domain';
import {
  ApiKeyRecords,
  CREDENTIALS_FORGOTTEN_MS,
  FeedProjection,
  FeedReader,
  parseApiKey,
  Store,
} from '#libs/postgres';
import { KafkaConnection, readPartitions, type StoredRecord } from '#libs/kafka-log';
import type { GaplessApp } from '#libs/platform';
import { ApiClient } from '../../../../test/support/api-client.js';
import { anApiKey } from '../../../../test/support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../../../test/support/gapless.js';
import { anEventId, anOrgId, aWidgetId } from '../../../../test/support/ids.js';
import { eventually } from '../../../../test/support/infrastructure/eventually.js';
import { ApiModule } from '../api.module.js';
import { RequestAuthenticator } from '../auth/request-authenticator.js';
import { apiHttp } from '../http/api-http.js';
import { FeedHeads } from './feed-heads.js';
import { StreamRoom } from './streams/stream-room.js';

const DAY_MS = 86_400_000;

interface FedEvent {
  readonly event?: string;
  readonly widgetId?: WidgetId | null;
  readonly appendedAtMs?: number;
  readonly id?: EventId;
  readonly dataJson?: string;
}

describe('the feed', () => {
  let gapless: GaplessUnderTest;
  let app: GaplessApp;
  let projection: FeedProjection;
  let nextOffset = 0;

  beforeAll(async () => {
    gapless = await aGapless();
    app = await gapless.start([ApiModule], { http: apiHttp });
    projection = new FeedProjection(app.app.get(Store));
  });

  afterAll(async () => {
    await gapless.stop();
  });

  /** An org whose feed is filled by this suite, as the projector would. */
  class Org {
    readonly id: OrgId = anOrgId();
    #seq = 0;
    #key: string | undefined;

    async key(): Promise<string> {
      return (this.#key ??= await anApiKey(app.app.get(Store), this.id));
    }

    async feed(...events: readonly FedEvent[]): Promise<void> {
      const firstOffset = nextOffset;
      nextOffset += events.length;
      await projection.apply(
        { projection: 'feed', topic: 'log', partition: 0, firstOffset, nextOffset },
        events.map((event, index) => {
          const seq = ++this.#seq as Seq;
          return {
            offset: firstOffset + index,
            orgId: this.id,
            seq,
            id: event.id ?? anEventId(),
            event: event.event ?? 'ticket.created',
            widgetId: event.widgetId ?? null,
            appendedAtMs: event.appendedAtMs ?? Date.now(),
            envelope: Buffer.from(`{"seq":${seq},"data":${event.dataJson ?? '{}'}}`),
          };
        }),
      );
    }

    async get(query = '', init: RequestInit = {}): Promise<Response> {
      return fetch(`${app.url}/api/v1/external/events${query}`, {
        ...init,
        headers: { ...(init.headers as Record<string, string>), 'x-api-key': await this.key() },
      });
    }

    async page(query = '') {
      const response = await this.get(query);
      const text = await response.text();
      expect([response.status, text]).toEqual([200, text]);
      const { data, next_seq } = JSON.parse(text) as { data: { seq: number }[]; next_seq: number | null };
      const bound = (name: string) => Number(response.headers.get(name));
      return {
        text,
        seqs: data.map(({ seq }) => seq),
        next: next_seq,
        oldest: bound('x-oldest-sequence'),
        head: bound('x-head-sequence'),
      };
    }
  }

  async function anOrgWith(...events: readonly FedEvent[]): Promise<Org> {
    const org = new Org();
    if (events.length > 0) await org.feed(...events);
    return org;
  }

  const some = (count: number): readonly FedEvent[] => Array.from({ length: count }, () => ({}));

  describe('pages (contract 5.1, 5.4)', () => {
    it('ascend by seq along next_seq, which is null when caught up', async () => {
      const org = await anOrgWith(...some(5));
      expect(await org.page('?limit=2')).toMatchObject({ seqs: [1, 2], next: 2, oldest: 1, head: 5 });
      expect(await org.page('?limit=2&since=2')).toMatchObject({ seqs: [3, 4], next: 4 });
      expect(await org.page('?limit=2&since=4')).toMatchObject({ seqs: [5], next: null });
      expect(await org.page('?limit=2&since=3')).toMatchObject({ seqs: [4, 5], next: null });
      expect(await org.page('?since=5')).toMatchObject({ seqs: [], next: null });
    });

    it('hold 100 events where no limit is given', async () => {
      const org = await anOrgWith(...some(101));
      expect(await org.page()).toMatchObject({ next: 100 });
      expect((await org.page('?limit=1000')).seqs).toHaveLength(101);
    });

    it('are filtered by type and widget, and next_seq counts what matches', async () => {
      const widgetId = aWidgetId();
      const org = await anOrgWith(
        {},
        { event: 'lead.created', widgetId },
        {},
        { event: 'lead.created' },
        { widgetId },
        {},
      );
      expect(await org.page('?event=lead.created&limit=1')).toMatchObject({ seqs: [2], next: 2 });
      expect(await org.page('?event=lead.created&limit=1&since=2')).toMatchObject({ seqs: [4], next: null, head: 6 });
      expect(await org.page(`?widget_id=${widgetId.toUpperCase()}`)).toMatchObject({ seqs: [2, 5], next: null });
      expect(await org.page(`?widget_id=${widgetId}&event=lead.created`)).toMatchObject({ seqs: [2] });
    });

    it('begin at the start of retention for a since before it', async () => {
      const old = { appendedAtMs: Date.now() - 31 * DAY_MS };
      const org = await anOrgWith(old, old, {}, {});
      expect(await org.page('?since=1')).toMatchObject({ seqs: [3, 4], oldest: 3, head: 4 });
      expect(await org.page()).toMatchObject({ seqs: [3, 4] });
    });

    it('report the next event as the oldest when all are past retention', async () => {
      const org = await anOrgWith({ appendedAtMs: Date.now() - 31 * DAY_MS });
      expect(await org.page()).toMatchObject({ seqs: [], next: null, oldest: 2, head: 1 });
    });

    it('are empty with bounds of 0 in an org without events', async () => {
      expect(await (await anOrgWith()).page()).toMatchObject({ seqs: [], next: null, oldest: 0, head: 0 });
    });

    it('never show another org’s events', async () => {
      const org = await anOrgWith(...some(2));
      await anOrgWith(...some(3));
      expect(await org.page()).toMatchObject({ seqs: [1, 2], head: 2 });
    });

    it('hold the stored bytes', async () => {
      const org = await anOrgWith({ dataJson: '{"n": 1.0, "big":12345678901234567890}' });
      expect((await org.page()).text).toBe(
        '{"data":[{"seq":1,"data":{"n": 1.0, "big":12345678901234567890}}],"next_seq":null}',
      );
    });

    it('end early rather than weigh too much, and go on after that', async () => {
      const heavy = { dataJson: JSON.stringify({ text: 'x'.repeat(250_000) }) };
      const org = await anOrgWith(...Array.from({ length: 40 }, () => heavy));
      const first = await org.page('?limit=1000');
      expect(first.seqs.length).toBeLessThan(40);
      expect(first.next).toBe(first.seqs.at(-1));
      const second = await org.page(`?limit=1000&since=${first.next!}`);
      expect([...first.seqs, ...second.seqs]).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
      expect(second.next).toBeNull();
    });

    it.each([
      ['?limit=abc', 400, 'malformed_request'],
      ['?limit=0', 422, 'validation_failed'],
      ['?limit=1001', 422, 'validation_failed'],
      ['?since=-1', 422, 'validation_failed'],
      ['?since=1e3', 400, 'malformed_request'],
      ['?widget_id=x', 400, 'malformed_request'],
      ['?event=nope', 422, 'unknown_event_type'],
      ['?cursor=1', 404, 'not_found'],
      ['?offset=1', 422, 'validation_failed'],
      ['?limit=1&limit=2', 422, 'validation_failed'],
      ['?wait=31', 422, 'validation_failed'],
    ])('are refused for %s', async (query, status, code) => {
      const response = await (await anOrgWith()).get(query);
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([status, code]);
    });
  });

  describe('the seq before a time', () => {
    it('is found between two seqs, wherever the time is', async () => {
      const now = Date.now();
      // Seq n was appended 10 - n hours ago.
      const hours = Array.from({ length: 9 }, (_, index) => ({ appendedAtMs: now - (9 - index) * 3_600_000 }));
      const org = await anOrgWith(...hours);
      const before = (hoursAgo: number, after = 0, head = 9) =>
        app.app.get(FeedReader).seqBefore(org.id, new Date(now - hoursAgo * 3_600_000), after as Seq, head as Seq);
      for (let n = 1; n <= 9; n++) {
        expect([n, await before(10 - n)]).toEqual([n, n - 1]);
        expect([n, await before(9.5 - n)]).toEqual([n, n]);
      }
      expect(await before(100)).toBe(0);
      expect(await before(-1)).toBe(9);
      expect(await before(100, 4)).toBe(4);
      expect(await before(-1, 9)).toBe(9);
      expect(await before(-1, 12)).toBe(12);
    });
  });

  describe('the long poll (contract 5.4)', () => {
    it('answers at once when there are events', async () => {
      const org = await anOrgWith(...some(2));
      expect(await org.page('?wait=30')).toMatchObject({ seqs: [1, 2] });
    });

    it('answers as soon as an event is there', async () => {
      const org = await anOrgWith(...some(1));
      const waiting = org.page('?wait=30&since=1');
      await org.feed({});
      expect(await waiting).toMatchObject({ seqs: [2], next: null });
    });

    it('waits for an event that matches', async () => {
      const org = await anOrgWith();
      const waiting = org.page('?wait=30&event=lead.created');
      await org.feed({}, {});
      await org.feed({}, { event: 'lead.created' });
      expect(await waiting).toMatchObject({ seqs: [4] });
    });

    it('answers with an empty page when nothing has come', async () => {
      const org = await anOrgWith(...some(1));
      expect(await org.page('?wait=1&since=1')).toMatchObject({ seqs: [], next: null, head: 1 });
    });

    it('answers many waiting clients with few reads', async () => {
      const org = await anOrgWith(...some(1));
      await org.key();
      const reads = jest.spyOn(app.app.get(FeedReader), 'page');
      const watches = jest.spyOn(app.app.get(FeedHeads), 'watch');
      const waiting = Array.from({ length: 200 }, () => org.page('?wait=30&since=1'));
      await eventually(() => {
        expect(watches).toHaveBeenCalledTimes(200);
      });
      await org.feed({});
      const pages = await Promise.all(waiting);
      expect(new Set(pages.map(({ text }) => text)).size).toBe(1);
      expect(pages[0]).toMatchObject({ seqs: [2] });
      // Each of them waited, and was woken by the event.
      expect(reads.mock.calls.length).toBeLessThan(20);
      for (const spy of [reads, watches]) spy.mockRestore();
    });

    it('goes on when the connection that listens was lost', async () => {
      const org = await anOrgWith();
      const waiting = org.page('?wait=30');
      const ended = await app.app.get(Store).query(
        `select pg_terminate_backend(pid) from pg_stat_activity
           where application_name = 'gapless-api-listen' and datname = current_database()`,
      );
      expect(ended).toHaveLength(1);
      await org.feed({});
      expect(await waiting).toMatchObject({ seqs: [1] });
    });
  });

  describe('the stream (contract 5.5)', () => {
    /** What a stream has sent so far. */
    class Stream {
      text = '';
      hasEnded = false;
      readonly #ending = new AbortController();
      response!: Response;

      static async open(org: Org, query = '', headers: Readonly<Record<string, string>> = {}): Promise<Stream> {
        const stream = new Stream();
        stream.response = await org.get(query, {
          headers: { accept: 'text/event-stream', ...headers },
          signal: stream.#ending.signal,
        });
        expect(stream.response.status).toBe(200);
        void stream.#read();
        return stream;
      }

      async #read(): Promise<void> {
        try {
          for await (const chunk of stream(this.response)) this.text += Buffer.from(chunk).toString();
        } catch {
          // Closed by the test, or with the process.
        }
        this.hasEnded = true;
      }

      /** Of its events. */
      get ids(): readonly number[] {
        return [...this.text.matchAll(/^id: (\d+)\nevent: /gm)].map(([, id]) => Number(id));
      }

      /** What it sent between events. */
      get positions(): readonly number[] {
        return [...this.text.matchAll(/^id: (\d+)\n\n/gm)].map(([, id]) => Number(id));
      }

      close(): void {
        this.#ending.abort();
      }
    }

    const stream = (response: Response) => response.body as unknown as AsyncIterable<Uint8Array>;

    it('begins at the head, and brings each event with its type and its envelope', async () => {
      const org = await anOrgWith(...some(3));
      const open = await Stream.open(org);
      expect(open.response.headers.get('content-type')).toMatch(/^text\/event-stream/);
      await org.feed({ event: 'lead.created' });
      await eventually(() => {
        expect(open.text).toContain('id: 4\nevent: lead.created\ndata: {"seq":4,"data":{}}\n\n');
      });
      expect(open.ids).toEqual([4]);
      open.close();
    });

    it('is not what a reader gets that refuses it', async () => {
      const org = await anOrgWith(...some(1));
      const accept = 'application/json, text/event-stream; q=0';
      const { headers } = await org.get('?since=0', { headers: { accept } });
      expect(headers.get('content-type')).toMatch(/^application\/json/);
    });

    it('brings nothing that came after its key was revoked, though no notification says so', async () => {
      const org = await anOrgWith();
      const open = await Stream.open(org);
      const waiting = org.page('?wait=30');
      await org.feed({});
      await eventually(() => {
        expect(open.ids).toEqual([1]);
      });
      await waiting;
      const watches = jest.spyOn(app.app.get(FeedHeads), 'watch');
      const late = org.page('?wait=30&since=1');
      await eventually(() => {
        expect(watches).toHaveBeenCalledWith(org.id, 1 as Seq);
      });
      watches.mockRestore();
      await app.app.get(Store).query('update api_keys set revoked_at = now() where org_id = $1', [org.id]);
      await delay(CREDENTIALS_FORGOTTEN_MS);
      await org.feed({});
      expect(await late).toMatchObject({ seqs: [], next: null, head: 1 });
      await eventually(() => {
        expect(open.hasEnded).toBe(true);
      });
      expect(open.ids).toEqual([1]);
    });

    it('leaves no page in memory when its credentials cannot be checked', async () => {
      const org = await anOrgWith();
      const room = app.app.get(StreamRoom, { strict: false });
      const open = await Stream.open(org);
      const hold = jest.spyOn(room, 'hold');
      const check = jest
        .spyOn(app.app.get(RequestAuthenticator, { strict: false }), 'isInForce')
        .mockRejectedValueOnce(new Error('Postgres is away'));
      await org.feed({});
      await eventually(() => {
        expect(open.hasEnded).toBe(true);
      });
      const [key = ''] = hold.mock.calls[0] ?? [];
      hold.mockRestore();
      check.mockRestore();
      const isEmpty = room.wait(key, Infinity, new AbortController().signal).then(() => true);
      expect([open.ids, await Promise.race([isEmpty, delay(500, false)])]).toEqual([[], true]);
    });

    it('begins after since, and Last-Event-ID wins over it', async () => {
      const org = await anOrgWith(...some(250));
      const open = await Stream.open(org, '?since=10', { 'last-event-id': '40' });
      await eventually(() => {
        expect(open.ids).toEqual(Array.from({ length: 210 }, (_, index) => index + 41));
      });
      open.close();
      const other = await Stream.open(org, '?since=248');
      await eventually(() => {
        expect(other.ids).toEqual([249, 250]);
      });
      other.close();
    });

    it('loses nothing when it is cut off before its first event', async () => {
      const org = await anOrgWith(...some(10));
      const open = await Stream.open(org);
      await eventually(() => {
        expect(open.positions).toEqual([10]);
      });
      open.close();
      await org.feed({}, {});
      const again = await Stream.open(org, '', { 'last-event-id': String(open.positions[0]) });
      await eventually(() => {
        expect(again.ids).toEqual([11, 12]);
      });
      expect(again.positions).toEqual([10]);
      again.close();
    });

    it('says how far it has read when nothing matches', async () => {
      const org = await anOrgWith(...some(3));
      const open = await Stream.open(org, '?event=lead.created&since=1');
      await eventually(() => {
        expect(open.positions).toEqual([1]);
      });
      await org.feed({}, {});
      // After the end of any key of the organization it checks its own, which it otherwise does every 15 s.
      const store = app.app.get(Store);
      const other = parseApiKey(await anApiKey(store, org.id));
      await new ApiKeyRecords(store).revoke(other?.id as ApiKeyId, new Date());
      await eventually(() => {
        expect(open.positions).toEqual([1, 5]);
      });
      open.close();
    });

    it('brings only what matches', async () => {
      const org = await anOrgWith();
      const open = await Stream.open(org, '?event=lead.created');
      await org.feed({}, { event: 'lead.created' }, {});
      await org.feed({}, {}, { event: 'lead.created' });
      await eventually(() => {
        expect(open.ids).toEqual([2, 6]);
      });
      open.close();
    });

    it('skips nothing while many follow and events keep coming', async () => {
      const org = await anOrgWith();
      const followers = await Promise.all(Array.from({ length: 30 }, () => Stream.open(org)));
      for (let batch = 0; batch < 60; batch++) await org.feed(...some(1 + (batch % 7)));
      const { head } = await org.page('?limit=1');
      const expected = Array.from({ length: head }, (_, index) => index + 1);
      for (const follower of followers) {
        await eventually(() => {
          expect(follower.ids).toEqual(expected);
        });
        follower.close();
      }
    });

    it('is refused to a key that has as many open as it may have', async () => {
      const other = await gapless.start([ApiModule], { http: apiHttp, env: { MAX_STREAMS_PER_KEY: '2' } });
      const org = await anOrgWith(...some(1));
      const headers = { accept: 'text/event-stream', 'x-api-key': await org.key() };
      const open = () => fetch(`${other.url}/api/v1/external/events`, { headers });
      const [first] = [await open(), await open()];
      const refused = await open();
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
      expect(await refused.json()).toMatchObject({ code: 'rate_limited' });
      await first.body?.cancel();
      await eventually(async () => {
        const again = await open();
        expect(again.status).toBe(200);
      });
      await other.stop();
    });

    it('does not count once its client is gone, even if that was before it was opened', async () => {
      const other = await gapless.start([ApiModule], { http: apiHttp, env: { MAX_STREAMS_PER_KEY: '1' } });
      const org = await anOrgWith(...some(1));
      const headers = { accept: 'text/event-stream', 'x-api-key': await org.key() };
      const authenticator = other.app.get(RequestAuthenticator, { strict: false });
      const authenticate = authenticator.authenticate.bind(authenticator);
      const socket = connect(Number(new URL(other.url).port), '127.0.0.1');
      const lookUp = jest.spyOn(authenticator, 'authenticate').mockImplementationOnce(async (request) => {
        socket.destroy();
        await once(request.raw.socket, 'close');
        return authenticate(request);
      });
      const lines = Object.entries({ host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`GET /api/v1/external/events HTTP/1.1\r\n${lines.join('')}\r\n`);
      await eventually(() => {
        expect(lookUp).toHaveBeenCalled();
      });
      await lookUp.mock.results[0]?.value;
      expect((await fetch(`${other.url}/api/v1/external/events`, { headers })).status).toBe(200);
      await other.stop();
    });

    it('refuses a Last-Event-ID that is no seq', async () => {
      const headers = { accept: 'text/event-stream', 'last-event-id': 'abc' };
      const response = await (await anOrgWith()).get('', { headers });
      expect(response.status).toBe(400);
      expect(response.headers.get('content-type')).toBe('application/problem+json');
    });

    it('lets its process end', async () => {
      const other = await gapless.start([ApiModule], { http: apiHttp });
      const org = await anOrgWith(...some(1));
      const headers = { accept: 'text/event-stream', 'x-api-key': await org.key() };
      const response = await fetch(`${other.url}/api/v1/external/events`, { headers });
      const waiting = fetch(`${other.url}/api/v1/external/events?wait=30&since=1`, {
        headers: { 'x-api-key': await org.key() },
      });
      const texts: string[] = [];
      const reading = (async () => {
        for await (const chunk of stream(response)) texts.push(Buffer.from(chunk).toString());
      })();
      await eventually(() => {
        expect(texts.join('')).toContain('retry:');
      });
      await other.stop();
      await reading;
      expect((await waiting).status).toBe(200);
    });

    it('lets its process end while it catches up with a client that reads slowly', async () => {
      const other = await gapless.start([ApiModule], { http: apiHttp });
      const org = await anOrgWith();
      const megabyte = JSON.stringify({ text: 'x'.repeat(1024 ** 2) });
      // More than the kernel takes of a connection.
      for (let event = 0; event < 32; event++) await org.feed({ dataJson: megabyte });
      const headers = { accept: 'text/event-stream', 'last-event-id': '0', 'x-api-key': await org.key() };
      const response = await fetch(`${other.url}/api/v1/external/events`, { headers });
      let text = '';
      const reading = (async () => {
        for await (const chunk of stream(response)) {
          text += Buffer.from(chunk).toString();
          await delay(50);
        }
      })();
      await eventually(() => {
        expect(text).toContain('"seq":1');
      });
      const stoppedMs = performance.now();
      await other.stop();
      expect(performance.now() - stoppedMs).toBeLessThan(10_000);
      await reading;
      // Its last event is whole.
      expect(text).toMatch(/\n\n$/);
      expect(text).not.toContain('"seq":32');
    });

    it('lets its process end when somebody is connected who asks for nothing', async () => {
      const other = await gapless.start([ApiModule], { http: apiHttp });
      const { hostname, port } = new URL(other.url);
      const silent = connect(Number(port), hostname);
      const ended = once(silent, 'close');
      await once(silent, 'connect');
      await (await fetch(`${other.url}/openapi.json`)).text();
      await other.stop();
      silent.resume();
      await ended;
    });
  });

  describe('ingest (contract 5.6)', () => {
    async function inboxOf(orgId: OrgId): Promise<readonly StoredRecord[]> {
      const topic = `${gapless.environment['TOPIC_PREFIX']!}.inbox.v1`;
      const partitions = Number(gapless.environment['PARTITIONS']);
      const stretches = Array.from({ length: partitions }, (_, partition) => ({ topic, partition, from: 0 }));
      // A broker that has just started may not be ready for groups yet.
      return eventually(async () => {
        const found: StoredRecord[] = [];
        await readPartitions(app.app.get(KafkaConnection), stretches, (record) => {
          if (record.key?.toString() === orgId) found.push(record);
        });
        return found;
      });
    }

    async function aProducer() {
      const orgId = anOrgId();
      const store = app.app.get(Store);
      const [service, own] = await Promise.all([anApiKey(store, null), anApiKey(store, orgId)]);
      return { orgId, service: new ApiClient(app.url, service), own: new ApiClient(app.url, own), ownKey: own };
    }

    it('appends what it acknowledges to the inbox, keyed by org, with the payload as it was sent', async () => {
      const { orgId, service } = await aProducer();
      const body = `{"events":[{"org_id":"${orgId.toUpperCase()}","event":"ticket.created","data":{"n": 1.0}}]}`;
      const [id] = await service.emitText(body);
      const [record] = await inboxOf(orgId);
      expect(id).toMatch(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/);
      expect(record!.value!.toString()).toMatch(
        new RegExp(
          `^\\{"id":"${id!}","event":"ticket.created","occurred_at":"[^"]+Z","org_id":"${orgId}",.*"data":\\{"n": 1\\.0\\}\\}$`,
        ),
      );
      expect(record!.headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    });

    it('fills in the org of an org key, and refuses another one', async () => {
      const { orgId, own } = await aProducer();
      await own.emit([{ event: 'ticket.created', data: {} }]);
      expect(await inboxOf(orgId)).toHaveLength(1);
      const foreign = { events: [{ event: 'ticket.created', org_id: anOrgId(), data: {} }] };
      const answer = await own.request('POST', '/internal/events', JSON.stringify(foreign));
      expect([answer.status, (JSON.parse(answer.text) as { code: string }).code]).toEqual([403, 'insufficient_scope']);
    });

    it('refuses the whole request for one bad event, and appends none of it', async () => {
      const { orgId, own } = await aProducer();
      const events = [
        { event: 'ticket.created', data: {} },
        { event: 'test', data: {} },
      ];
      const answer = await own.request('POST', '/internal/events', JSON.stringify({ events }));
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
        422,
        { code: 'unknown_event_type', errors: [{ pointer: '#/events/1/event' }] },
      ]);
      expect(await inboxOf(orgId)).toHaveLength(0);
    });

    it('answers an id that the feed holds already the same, and does not append it again', async () => {
      const { orgId, own } = await aProducer();
      const org = new Org();
      Object.assign(org, { id: orgId });
      const known = anEventId();
      await org.feed({ id: known });
      const fresh = anEventId();
      const ids = await own.emit([
        { id: known, event: 'ticket.created', data: {} },
        { id: fresh, event: 'ticket.created', data: {} },
      ]);
      expect(ids).toEqual([known, fresh]);
      expect(
        (await inboxOf(orgId)).map((record) => (JSON.parse(record.value!.toString()) as { id: string }).id),
      ).toEqual([fresh]);
    });

    it('keeps ids apart by org', async () => {
      const { orgId, own } = await aProducer();
      const other = await anOrgWith();
      const id = anEventId();
      await other.feed({ id });
      await own.emit([{ id, event: 'ticket.created', data: {} }]);
      expect(await inboxOf(orgId)).toHaveLength(1);
    });

    it('names the same events again when a request with an Idempotency-Key is taken over', async () => {
      const { ownKey } = await aProducer();
      const send = async () => {
        const response = await fetch(`${app.url}/api/v1/internal/events`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-api-key': ownKey, 'idempotency-key': 'batch-1' },
          body: JSON.stringify({ events: [{ event: 'ticket.created', data: {} }] }),
        });
        expect(response.status).toBe(202);
        return response.text();
      };
      const first = await send();
      await app.app
        .get(Store)
        .query(`update idempotency_keys set answer_ciphertext = null, leased_until = now() where key = 'batch-1'`);
      expect(await send()).toBe(first);
    });

    it('takes bodies of up to 4 MiB, and answers larger ones, and more than 500 events, with 413', async () => {
      const { own } = await aProducer();
      const event = { event: 'ticket.created', data: { text: 'x'.repeat(200_000) } };
      expect(await own.emit(Array.from({ length: 19 }, () => event))).toHaveLength(19);
      const large = await own.request(
        'POST',
        '/internal/events',
        JSON.stringify({ events: Array.from({ length: 25 }, () => event) }),
      );
      expect(large.status).toBe(413);
      const many = Array.from({ length: 501 }, () => ({ event: 'ticket.created', data: {} }));
      expect((await own.request('POST', '/internal/events', JSON.stringify({ events: many }))).status).toBe(413);
    });
  });
});
