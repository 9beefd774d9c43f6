import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { catalogEntry } from '#libs/domain';
import { Histogram } from '../../bench/figures/histogram.js';
import { eventJson } from '../../bench/traffic/event-bodies.js';
import { aReceiver } from '../../support/receiver.js';
import type { Attack, Attacker } from '../attack.js';
import { Neighbour } from '../neighbour.js';
import type { Household } from '../neighbour-main.js';
import { beyond } from '../run-attack.js';

const KIB = 1024;
const MIB = 1024 * KIB;

/** @returns their ids */
async function endpoints({ client, afterwards }: Attacker, count: number): Promise<readonly string[]> {
  const receiver = await aReceiver();
  afterwards(() => receiver.close());
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth++) {
    ids.push((await client.createWebhook({ url: `${receiver.url}/${nth}`, events: ['ticket.created'] })).id);
  }
  return ids;
}

function bodyOf(events: number, bytes: number, event = 'ticket.created'): string {
  return `{"events":[${Array.from({ length: events }, () => eventJson({ event, bytes })).join(',')}]}`;
}

interface Posting {
  readonly requests: number;
  readonly connections: number;
  /** Sends what was refused again when it may, as a well-behaved client does. */
  readonly isPatient?: boolean;
}

/** Sends the same body again and again over some connections, and counts what the answers were. */
async function post(
  { client }: Attacker,
  body: string,
  { requests, connections, isPatient }: Posting,
): Promise<string> {
  const statuses = new Map<number, number>();
  let left = requests;
  const sendOn = async () => {
    while (left-- > 0) {
      const answer = await client.request('POST', '/internal/events', body).catch(() => undefined);
      const status = answer?.status ?? 0;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (isPatient !== true || status === 202) continue;
      left++;
      await delay(Number(answer?.headers.get('retry-after') ?? 1) * 1_000);
    }
  };
  await Promise.all(Array.from({ length: connections }, sendOn));
  return counted(statuses);
}

function counted(statuses: ReadonlyMap<number, number>): string {
  return [...statuses]
    .sort(([one], [other]) => one - other)
    .map(([status, count]) => `${count} × ${status === 0 ? 'no answer' : status}`)
    .join(', ');
}

export const fanOutByBytes: Attack = {
  name: 'fan-out',
  description: '50 endpoints, then 250 events of 4 KB and 4 of 255 KiB, each in a request',
  async strike(attacker) {
    await endpoints(attacker, 50);
    const small = await post(attacker, bodyOf(250, 4_000), { requests: 1, connections: 1 });
    return `${small}; ${await post(attacker, bodyOf(4, 255 * KIB), { requests: 1, connections: 1 })}`;
  },
};

export const manyDeliveries: Attack = {
  name: 'many-deliveries',
  description: '50 endpoints, then 2,500 events to each of them',
  async strike(attacker) {
    const ids = await endpoints(attacker, 50);
    const statuses = await post(attacker, bodyOf(500, 700), { requests: 5, connections: 1, isPatient: true });
    await delay(5_000);
    // Deliveries that are left would be in the way of the next attack.
    for (const id of ids) {
      await attacker.client.request('PATCH', `/external/webhooks/${id}`, JSON.stringify({ is_active: false }));
    }
    return statuses;
  },
};

/** Until events are in the feed. */
const PROJECTED_AFTER_MS = 2_000;

/** Asks for a stream of the whole feed. Nothing is read until there is a listener. */
function openStream({ baseUrl, apiKey }: Attacker): Socket {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on('error', () => undefined);
  socket.write(
    `GET /api/v1/external/events?since=0 HTTP/1.1\r\nhost: ${hostname}\r\naccept: text/event-stream\r\n` +
      `x-api-key: ${apiKey}\r\n\r\n`,
  );
  return socket;
}

export const slowReaders: Attack = {
  name: 'slow-readers',
  description: '1,500 streams of a feed with 4 MB events in it, none of which is read',
  limits: { growthMiB: 50 },
  async prepare(attacker) {
    await post(attacker, bodyOf(16, 255 * KIB), { requests: 1, connections: 1 });
    await delay(PROJECTED_AFTER_MS);
  },
  async strike(attacker) {
    const sockets: Socket[] = [];
    attacker.afterwards(() => {
      for (const socket of sockets) socket.destroy();
    });
    const statuses = new Map<number, number>();
    for (let nth = 0; nth < 1_500; nth++) {
      const socket = openStream(attacker);
      sockets.push(socket);
      if (nth >= 200) continue;
      // Of the first ones the answer is looked at; then nothing is read any more.
      const [head] = (await Promise.race([once(socket, 'data'), delay(2_000, [Buffer.alloc(0)])])) as [Buffer];
      socket.pause();
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head.toString('latin1'))?.[1] ?? 0);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    await delay(5_000);
    return `the first 200: ${counted(statuses)}`;
  },
};

export const largeLists: Attack = {
  name: 'large-lists',
  description: '400 waiting chats with subjects of 250 KiB, listed 6 times at once',
  async strike(attacker) {
    const subject = 'x'.repeat(250 * KIB);
    for (let nth = 0; nth < 400; nth += 10) {
      const events = Array.from({ length: 10 }, (_, at) => ({
        event: 'conversation.handed_off',
        data: { conversation: { id: `cnv_${nth + at}`, status: 'waiting_for_agent', subject } },
      }));
      const send = () => attacker.client.request('POST', '/internal/events', JSON.stringify({ events }));
      // The bytes of a key are limited.
      for (let answer = await send(); answer.status === 429; answer = await send()) {
        await delay(Number(answer.headers.get('retry-after') ?? 1) * 1_000);
      }
    }
    const path = `/internal/orgs/${attacker.orgId}/waiting-conversations?limit=1000`;
    const answers = await Promise.all(Array.from({ length: 6 }, () => attacker.service.request('GET', path)));
    return `at most ${(Math.max(...answers.map(({ text }) => text.length)) / MIB).toFixed(1)} MiB in an answer`;
  },
};

export const manyBytes: Attack = {
  name: 'many-bytes',
  description: '200 MB of events by 16 connections of one key',
  limits: { acknowledgedP99Ms: 250 },
  strike: (attacker) => post(attacker, bodyOf(15, 255 * KIB), { requests: 52, connections: 16 }),
};

/** Twice the aim of 500 ms: the machine may do other things, too. Without a pace it is 4 s. */
const IMPORT_LIMIT_MS = 1_000;
/** Twice the aim of 250 ms, likewise. */
const ALERT_LIMIT_MS = 500;

export const bulkImport: Attack = {
  name: 'bulk-import',
  description:
    '50,000 events of one organization with an endpoint, by 8 connections, beside alerts of the same organization',
  limits: { acknowledgedP99Ms: IMPORT_LIMIT_MS, pushedP99Ms: IMPORT_LIMIT_MS },
  async strike(attacker) {
    await endpoints(attacker, 1);
    // To another endpoint of the organization.
    return importBesideAlerts(attacker, []);
  },
};

export const urgentImport: Attack = {
  name: 'urgent-import',
  description: '50,000 events of one organization to an endpoint, by 8 connections, beside alerts to the same endpoint',
  limits: { acknowledgedP99Ms: IMPORT_LIMIT_MS, pushedP99Ms: IMPORT_LIMIT_MS },
  strike: (attacker) => importBesideAlerts(attacker, ['ticket.created']),
};

/** Long enough that a chat is in the queue before. */
const THRESHOLD_S = 3;

export const waitingImport: Attack = {
  name: 'waiting-import',
  description:
    '50,000 events of one organization to an endpoint, by 8 connections, beside chats that nobody answers, timed from the ' +
    'threshold',
  limits: { acknowledgedP99Ms: IMPORT_LIMIT_MS, pushedP99Ms: IMPORT_LIMIT_MS },
  async strike(attacker) {
    const thresholds = { first_alert_seconds: THRESHOLD_S, second_alert_seconds: 86_400 };
    const answer = await attacker.service.request(
      'PUT',
      `/internal/orgs/${attacker.orgId}/live-chat-settings`,
      JSON.stringify({ ...thresholds, staff_alerts: { enabled: true, emails: [] } }),
    );
    if (answer.status !== 200) throw new Error(answer.text);
    return importBesideAlerts(attacker, ['ticket.created'], {
      event: 'conversation.handed_off',
      chats: { raises: 'conversation.queued', afterSeconds: THRESHOLD_S },
    });
  },
};

/** @param others types that the endpoint of the alerts gets, too */
async function importBesideAlerts(
  attacker: Attacker,
  others: readonly string[],
  alerting: Pick<Household, 'event' | 'chats'> = { event: 'conversation.queued' },
): Promise<string> {
  // A service of the product sends the alerts.
  const { baseUrl, apiKey, orgId, serviceKey: key } = attacker;
  const { example: data } = catalogEntry('conversation.queued');
  const alerts = await Neighbour.movesIn({ baseUrl, apiKey, ...alerting, data, others, service: { key, orgId } });
  attacker.afterwards(() => alerts.leave());
  let [result, tookS] = ['', 0];
  const { pushed, missing, refused } = await alerts.during(async () => {
    const beganAt = performance.now();
    result = await post(attacker, bodyOf(500, 700), { requests: 100, connections: 8, isPatient: true });
    tookS = (performance.now() - beganAt) / 1_000;
    const { text } = await attacker.client.request('GET', `/external/webhooks/${alerts.endpointId}`);
    const { health } = (JSON.parse(text) as { readonly data: { readonly health: { readonly pending: number } } }).data;
    if (others.length > 0) result += `, ${health.pending} pushes wait at the end`;
  }, 1_000);
  if (missing + refused > 0) throw new Error(`${missing} of its alerts were not pushed, ${refused} were refused`);
  for (const problem of beyond('its own alerts were pushed', pushed, ALERT_LIMIT_MS)) attacker.complain(problem);
  const times = Histogram.of(pushed);
  const [p50, p99] = [0.5, 0.99].map((share) => times.quantile(share).toFixed(0));
  return `${result}; in ${tookS.toFixed(0)} s; its own alerts are pushed in ${p50} ms (p50), ${p99} ms (p99)`;
}

export const pipelining: Attack = {
  name: 'pipelining',
  description: '2,000 requests at once on each of 100 connections, whose answers nobody reads',
  async strike({ baseUrl, apiKey, afterwards }) {
    const { hostname, port } = new URL(baseUrl);
    const request = `GET /api/v1/external/event-types HTTP/1.1\r\nhost: ${hostname}\r\nx-api-key: ${apiKey}\r\n\r\n`;
    const many = Buffer.from(request.repeat(2_000));
    let closed = 0;
    for (let nth = 0; nth < 100; nth++) {
      const socket = connect({ host: hostname, port: Number(port) });
      afterwards(() => void socket.destroy());
      socket.on('error', () => undefined);
      socket.on('close', () => closed++);
      // Reading is what shows that a connection is closed.
      socket.resume();
      socket.write(many);
    }
    await delay(5_000);
    return `${closed} of 100 connections are closed`;
  },
};

export const loudReceivers: Attack = {
  name: 'loud-receivers',
  description: '30 events to each of 10 endpoints that answer 103 again and again, as fast as they are read',
  async strike(attacker) {
    const hints = Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(500));
    let [connections, closed] = [0, 0];
    const server = createServer((socket) => {
      connections++;
      socket.on('close', () => closed++);
      attacker.afterwards(() => void socket.destroy());
      const more = () => {
        while (!socket.destroyed && socket.write(hints));
      };
      socket.on('error', () => undefined);
      socket.on('drain', more);
      socket.once('data', more);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    attacker.afterwards(() => void server.close());
    const { port } = server.address() as AddressInfo;
    for (let nth = 0; nth < 10; nth++) {
      await attacker.client.createWebhook({ url: `http://127.0.0.1:${port}/${nth}`, events: ['ticket.created'] });
    }
    const statuses = await post(attacker, bodyOf(30, 500), { requests: 1, connections: 1 });
    await delay(5_000);
    return `${statuses}; ${closed} of ${connections} connections are closed`;
  },
};
