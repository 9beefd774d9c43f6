import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Credentials } from '#libs/local-installation';

/** What the pages are shown with. */
export interface SimulatedOrg {
  readonly healthyId: string;
  readonly disabledId: string;
  /** A delivery with several attempts. */
  readonly delivery: { readonly endpointId: string; readonly id: string };
  readonly seq: number;
  close(): void;
}

interface EventType {
  readonly event: string;
  readonly scope: 'widget' | 'org';
  readonly deprecated: boolean;
  readonly operational: boolean;
  readonly example: Readonly<Record<string, unknown>>;
}

const WIDGET = '0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21';
const EVENTS = 640;
const AT_ONCE = 20;
const PAUSE_MS = 100;
const SPAN_MS = 55 * 60_000;
const PATIENCE_MS = 60_000;
const SUBJECTS = [
  'Where is my parcel?',
  'Refund for order 10042',
  'Cannot sign in',
  'The invoice is wrong',
  'Size exchange',
];

/** An org in which everything that the pages can show has happened: endpoints that work, fail, and were disabled. */
export async function simulateOrg(credentials: Credentials, nowMs: number): Promise<SimulatedOrg> {
  const ask = asking(credentials);
  const servers: Server[] = [];
  const receiver = async (path: string, listener: RequestListener) => {
    const server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    servers.push(server);
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  };
  const types = (await ask<EventType[]>('GET', '/external/event-types')).filter(
    ({ event, deprecated, operational }) => event !== 'test' && !deprecated && !operational,
  );
  const events = types.map(({ event }) => event);
  let pushes = 0;
  let isPagerDown = false;
  const register = (body: object) => ask<{ id: string }>('POST', '/external/webhooks', body);
  const healthy = await register({
    name: 'CRM sync',
    description: 'Keeps contacts and tickets in step with the CRM.',
    url: await receiver('/hooks/gapless', (_request, response) => setTimeout(() => response.writeHead(204).end(), 12)),
    events: events.filter((event) => /^(ticket|lead|visitor|conversation)/.test(event)),
  });
  const warehouse = await register({
    name: 'Data warehouse',
    url: await receiver('/collect', (_request, response) => response.end('stored')),
    events,
  });
  await register({
    name: 'Pager for unanswered chats',
    url: await receiver('/in', (_request, response) =>
      isPagerDown || ++pushes % 9 === 0 ? response.writeHead(503).end('upstream connect error') : response.end('ok'),
    ),
    events: events.filter((event) => event.startsWith('conversation')),
    widget_ids: [WIDGET],
  });
  const disabled = await register({
    name: 'Billing exporter',
    url: await receiver('/v2/receive?tenant=northwind', (_request, response) =>
      response.writeHead(500, { 'content-type': 'application/json' }).end('{"error": "database is locked"}'),
    ),
    events: ['ticket.created', 'ticket.updated', 'call_request.completed'],
  });

  // Appended times cannot be chosen, so they are moved afterwards; the day's tables end at midnight.
  const sinceMidnight = nowMs % 86_400_000;
  const spanMs = Math.min(SPAN_MS, sinceMidnight);
  const submissions = Array.from({ length: EVENTS }, (_, index) =>
    anEvent(types, index, new Date(nowMs - momentOf(index, spanMs))),
  );
  for (let from = 0; from < EVENTS; from += AT_ONCE) {
    await ask('POST', '/internal/events', { events: submissions.slice(from, from + AT_ONCE) });
    await delay(PAUSE_MS);
  }
  await settled(ask, warehouse.id, disabled.id);
  await spread(credentials, nowMs, spanMs);
  // What it is sent last fails, so that it is seen to fail.
  isPagerDown = true;
  await raiseChats(ask, nowMs);
  const failed = await ask<{ id: string }[]>(
    'GET',
    `/external/webhooks/${disabled.id}/deliveries?status=failed&limit=250`,
  );
  const delivery = failed.at(-1);
  if (delivery === undefined) throw new Error('no delivery failed');
  return {
    healthyId: healthy.id,
    disabledId: disabled.id,
    delivery: { endpointId: disabled.id, id: delivery.id },
    seq: EVENTS + 2,
    close: () => {
      for (const server of servers) server.close().closeAllConnections();
    },
  };
}

type Asking = <T>(method: string, path: string, body?: object) => Promise<T>;

function asking({ base_url: baseUrl, api_key: apiKey }: Credentials): Asking {
  return async <T>(method: string, path: string, body?: object) => {
    const response = await fetch(`${baseUrl}/api/v1${path}`, {
      method,
      headers: { 'x-api-key': apiKey, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { data: T }).data;
  };
}

/** How long before now the event of this index happens: in waves, as a day's visitors come. */
function momentOf(index: number, spanMs: number): number {
  const share = 1 - (index + 0.5) / EVENTS;
  // Whole milliseconds, as the log has them.
  return Math.round(spanMs * Math.min(1, Math.max(0, share + 0.022 * Math.sin(share * 28))));
}

function anEvent(types: readonly EventType[], index: number, at: Date) {
  const type = types[(index * 7) % types.length];
  if (type === undefined) throw new Error('there are no event types');
  const { event, scope, example } = type;
  return {
    event,
    occurred_at: at.toISOString(),
    ...(scope === 'widget' ? { widget_id: WIDGET } : {}),
    data: 'subject' in example ? { ...example, subject: SUBJECTS[index % SUBJECTS.length] } : example,
  };
}

/** Waits until every event was delivered to the endpoint that takes all, and the one that always fails is given up. */
async function settled(ask: Asking, completeId: string, disabledId: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  const endpoint = (id: string) =>
    ask<{ is_active: boolean; health: { delivered_24h: number } }>('GET', `/external/webhooks/${id}`);
  for (;;) {
    const [complete, disabled] = await Promise.all([endpoint(completeId), endpoint(disabledId)]);
    if (complete.health.delivered_24h >= EVENTS && !disabled.is_active) return;
    if (performance.now() > deadline) throw new Error('the simulated org did not settle');
    await delay(500);
  }
}

/** Moves what was appended within seconds to when it is said to have happened. */
async function spread({ database_url: databaseUrl }: Credentials, nowMs: number, spanMs: number): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('begin');
    const shares = Array.from({ length: EVENTS }, (_, index) => nowMs - momentOf(index, spanMs));
    await client.query(
      `create temporary table moved on commit drop as
       select e.org_id, e.seq, e.appended_at as from_at, to_timestamp(m.at / 1000) as to_at
       from events e join unnest($1::float8[]) with ordinality m(at, n) on m.n = e.seq`,
      [shares],
    );
    await client.query(
      `update delivery_attempts a set started_at = a.started_at + (m.to_at - m.from_at), delivery_created_at = m.to_at
       from deliveries d join moved m on m.org_id = d.org_id and m.seq = d.seq
       where a.delivery_id = d.id`,
    );
    await client.query(
      `update deliveries d set created_at = m.to_at, delivered_at = d.delivered_at + (m.to_at - d.created_at)
       from moved m where m.org_id = d.org_id and m.seq = d.seq`,
    );
    await client.query(
      'update events e set appended_at = m.to_at from moved m where m.org_id = e.org_id and m.seq = e.seq',
    );
    await client.query('commit');
  } finally {
    await client.end();
  }
}

/** Chats that wait for an agent since a while, for the page of the alerts. */
async function raiseChats(ask: Asking, nowMs: number): Promise<void> {
  const types = await ask<EventType[]>('GET', '/external/event-types');
  const example = types.find(({ event }) => event === 'conversation.handed_off')?.example ?? {};
  const conversation = example['conversation'] as Readonly<Record<string, unknown>>;
  const chats = [412, 198, 77, 21].map((seconds, index) => ({
    event: 'conversation.handed_off',
    widget_id: WIDGET,
    occurred_at: new Date(nowMs - seconds * 1_000).toISOString(),
    data: {
      ...example,
      conversation: { ...conversation, id: `cnv_${index}`, subject: SUBJECTS[index], waited_seconds: 0 },
    },
  }));
  await ask('POST', '/internal/events', { events: chats });
}
