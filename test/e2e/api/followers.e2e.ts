import { request, type ClientRequest } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, EventSource } from 'undici';
import type { ApiKeyId, OrgId } from '#libs/domain';
import type { Envelope } from '../../support/api-client.js';
import { anOrgId } from '../../support/ids.js';
import { eventually } from '../../support/infrastructure/eventually.js';
import { aTcpProxy } from '../../support/tcp-proxy.js';
import { ApiSuite, posting } from './support/api-suite.js';

const FEED = '/api/v1/external/events';
const ORGS = 5;
const POLLERS = 30;
const STREAMS = 20;
const EVENTS_PER_ORG = 120;
/** A stream is cut off, and taken up again with `Last-Event-ID`, after so many events. */
const EVENTS_PER_CONNECTION = 17;

interface Org {
  readonly orgId: OrgId;
  readonly key: string;
}

let suite: ApiSuite;
let orgs: readonly Org[];
/** Whose key is taken away at the beginning, because it takes a while until it is noticed. */
let revoked: { readonly key: string; readonly reader: StreamReader };

beforeAll(async () => {
  suite = await ApiSuite.start();
  orgs = await Promise.all(
    Array.from({ length: ORGS }, async () => {
      const orgId = anOrgId();
      return { orgId, key: await suite.aKey(orgId) };
    }),
  );
  const { id, key } = await suite.aKeyWith(anOrgId());
  const reader = new StreamReader(key, Infinity);
  revoked = { key, reader };
  await eventually(() => {
    expect(reader.connections).toBe(1);
  });
  await suite.keys.revoke(id as ApiKeyId, new Date());
});

afterAll(async () => {
  revoked.reader.close();
  await suite.stop();
});

/** An event of a stream: its id is the seq. */
interface StreamEvent {
  readonly id: number;
  readonly event: string;
  readonly envelope: Envelope;
}

/** A reader of the stream as a browser's `EventSource` is one: it goes on after the last id that it has got. */
class StreamReader {
  readonly events: StreamEvent[] = [];
  connections = 0;
  isEnded = false;
  headers: Readonly<Record<string, unknown>> = {};
  #open: ClientRequest | undefined;
  #isClosed = false;
  #lastId: string | undefined;

  /** @param eventsPerConnection how many events it waits for before it drops the connection and comes back */
  constructor(
    private readonly key: string,
    private readonly eventsPerConnection: number,
    private readonly query = '',
  ) {
    this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    this.#open?.destroy();
  }

  #connect(): void {
    const headers = {
      'x-api-key': this.key,
      accept: 'text/event-stream',
      ...(this.#lastId === undefined ? {} : { 'last-event-id': this.#lastId }),
    };
    const until = this.events.length + this.eventsPerConnection;
    let pending = '';
    const open = request(`${suite.app.url}${FEED}${this.query}`, { headers, agent: false }, (response) => {
      this.connections++;
      this.headers = response.headers;
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        const blocks = `${pending}${chunk}`.split('\n\n');
        pending = blocks.pop() ?? '';
        for (const block of blocks) this.#take(block);
        if (this.events.length >= until) open.destroy();
      });
      response.on('end', () => {
        this.isEnded = true;
      });
      // Not when it has ended: that is the server's word that it is over.
      response.on('error', () => {
        if (!this.#isClosed) this.#connect();
      });
    });
    open.on('error', () => undefined);
    this.#open = open.end();
  }

  #take(block: string): void {
    const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
    this.#lastId = fields.get('id') ?? this.#lastId;
    const data = fields.get('data');
    if (data === undefined) return;
    this.events.push({
      id: Number(fields.get('id')),
      event: fields.get('event') ?? '',
      envelope: JSON.parse(data) as Envelope,
    });
  }
}

/** Reads by long poll along `next_seq` or the last event, until it has as many events. */
async function poll({ key }: Org, limit: number, count: number): Promise<readonly Envelope[]> {
  const envelopes: Envelope[] = [];
  while (envelopes.length < count) {
    const path = `${FEED}?since=${envelopes.at(-1)?.seq ?? 0}&wait=10&limit=${limit}`;
    const page = JSON.parse((await suite.ask({ key, method: 'GET', path })).text) as {
      data: Envelope[];
      next_seq: number | null;
    };
    // Null means caught up: a client that waits has got everything that there was.
    if (page.next_seq !== null) expect(page.next_seq).toBe(page.data.at(-1)?.seq);
    envelopes.push(...page.data);
  }
  return envelopes;
}

/** Submits the org's events, in requests of 1 to 7. @returns their ids in the order of submission */
async function submit({ key }: Org): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let size = 1; ids.length < EVENTS_PER_ORG; size = (size % 7) + 1) {
    const count = Math.min(size, EVENTS_PER_ORG - ids.length);
    const events = Array.from({ length: count }, (_, index) => ({
      event: 'ticket.updated',
      data: { number: ids.length + index },
    }));
    const accepted = await suite.data<{ id: string }[]>(
      { key, ...posting('/api/v1/internal/events', { events }) },
      202,
    );
    ids.push(...accepted.map(({ id }) => id));
  }
  return ids;
}

describe('those who follow the feed while events arrive', () => {
  let submitted: readonly (readonly string[])[];
  let polled: readonly (readonly Envelope[])[];
  const readers: StreamReader[] = [];
  const seqs = Array.from({ length: EVENTS_PER_ORG }, (_, index) => index + 1);
  const orgOf = (reader: number) => orgs[reader % ORGS]!;

  beforeAll(async () => {
    // From the start on, so that a reader which is connected late misses nothing either.
    for (let i = 0; i < STREAMS; i++) {
      readers.push(new StreamReader(orgOf(i).key, EVENTS_PER_CONNECTION + i, '?since=0'));
    }
    const polling = Promise.all(
      Array.from({ length: POLLERS }, (_, index) => poll(orgOf(index), [1_000, 3, 20][index % 3]!, EVENTS_PER_ORG)),
    );
    [submitted, polled] = await Promise.all([Promise.all(orgs.map(submit)), polling]);
  });

  afterAll(() => {
    for (const reader of readers) reader.close();
  });

  it('get every event of their org once and in order by long poll', () => {
    for (const [index, envelopes] of polled.entries()) {
      expect(envelopes.map(({ seq }) => seq)).toEqual(seqs);
      expect(envelopes.map(({ id }) => id)).toEqual(submitted[index % ORGS]);
      expect(new Set(envelopes.map(({ org_id }) => org_id))).toEqual(new Set([orgOf(index).orgId]));
    }
  });

  it('get every event of their org once and in order by stream, across connections', async () => {
    for (const [index, reader] of readers.entries()) {
      await eventually(() => {
        expect(reader.events.length).toBeGreaterThanOrEqual(EVENTS_PER_ORG);
      });
      expect(reader.events.map(({ id }) => id)).toEqual(seqs);
      expect(reader.events.map(({ envelope }) => envelope.seq)).toEqual(seqs);
      expect(reader.events.map(({ envelope }) => envelope.id)).toEqual(submitted[index % ORGS]);
      expect(reader.connections).toBeGreaterThan(1);
    }
  });

  it('have the headers of every answer, also on a stream', () => {
    for (const { headers } of readers) {
      expect(headers['content-type']).toMatch(/^text\/event-stream/);
      expect(headers['x-request-id']).toEqual(expect.any(String));
      expect(headers['ratelimit']).toMatch(/^"requests";r=\d+;t=\d+$/);
      expect(headers['x-head-sequence']).toMatch(/^\d+$/);
      expect(headers['x-oldest-sequence']).toMatch(/^\d+$/);
    }
  });
});

describe('a reader at the head', () => {
  it('gets what comes from then on, and nothing of what was there', async () => {
    const { orgId } = orgs[0]!;
    const key = await suite.aKey(orgId);
    const emit = () =>
      suite.data(
        { key, ...posting('/api/v1/internal/events', { events: [{ event: 'ticket.created', data: {} }] }) },
        202,
      );
    const head = async () =>
      Number((await suite.ask({ key, method: 'GET', path: `${FEED}?limit=1` })).headers['x-head-sequence']);
    const before = await head();
    const reader = new StreamReader(key, Infinity);
    await eventually(() => {
      expect(reader.headers['x-head-sequence']).toBe(String(before));
    });
    for (let i = 0; i < 3; i++) await emit();
    await eventually(() => {
      expect(reader.events.map(({ id }) => id)).toEqual([before + 1, before + 2, before + 3]);
    });
    reader.close();
  });

  it('gets what came while an EventSource of others was cut off before its first event', async () => {
    const key = await suite.aKey(anOrgId());
    const body = { events: [{ event: 'ticket.created', data: {} }] };
    const emit = () => suite.data({ key, ...posting('/api/v1/internal/events', body) }, 202);
    await emit();
    await eventually(async () => {
      expect(await suite.data({ key, method: 'GET', path: FEED }, 200)).toHaveLength(1);
    });
    const proxy = await aTcpProxy(suite.app.url);
    await proxy.open();
    const dispatcher = new Agent().compose((dispatch) => (options, handler) => {
      const headers = { ...(options.headers as Readonly<Record<string, string>>), 'x-api-key': key };
      return dispatch({ ...options, headers }, handler);
    });
    // Nothing shows whether it has got its position yet. A slow machine may cut it off too soon, so it may try again.
    await eventually(async () => {
      const source = new EventSource(new URL(FEED, proxy.url).href, { node: { dispatcher } });
      let events = 0;
      source.addEventListener('ticket.created', () => events++);
      try {
        await eventually(() => {
          expect(source.readyState).toBe(EventSource.OPEN);
        });
        await pause(500);
        await proxy.close();
        await emit();
        await proxy.open();
        await eventually(
          () => {
            expect(events).toBe(1);
          },
          { timeoutMs: 15_000 },
        );
      } finally {
        source.close();
        await proxy.open();
      }
    });
    await proxy.close();
  });

  it('is let go once its key is revoked, and is refused when it comes back', async () => {
    // The key is looked at with each keep-alive, every 15 s.
    await eventually(() => {
      expect(revoked.reader.isEnded).toBe(true);
    });
    expect((await suite.refusal({ key: revoked.key, method: 'GET', path: FEED })).code).toBe('invalid_api_key');
  });
});
