import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient } from '../support/api-client.js';
import { aReceiver } from '../support/receiver.js';
import { serveOperations } from '../bench/traffic/operations.js';

/** What a tenant that does nothing special got. Latencies in milliseconds. */
export interface Experience {
  readonly acknowledged: readonly number[];
  readonly pushed: readonly number[];
  /** Events that were acknowledged and never pushed. */
  readonly missing: number;
  /** Requests that were not answered by 202. */
  readonly refused: number;
}

/** How long it takes for an event of another type. An import is then faster than its endpoint. */
const ANSWERS_OTHERS_AFTER_MS = 200;
/** As often as this: within the default limits of a key. */
const EVERY_MS = 50;
/** Chats that nobody answers are fewer. */
const CHATS_EVERY_MS = 250;
/** Whatever has not come by then does not come. */
const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 20;

interface Sent {
  readonly emittedAtMs: number;
  /** When its push may come at the earliest. */
  readonly atMs: number;
  readonly acknowledgedAtMs: number;
}

/** Who sends which events to whom. */
export interface Household {
  readonly baseUrl: string;
  /** Of the organization; registers the endpoint. */
  readonly apiKey: string;
  /** With a service key: the organization to send for. Otherwise the key above sends. */
  readonly service?: { readonly key: string; readonly orgId: string };
  readonly event: string;
  readonly data: object;
  /** Types that its endpoint gets, too. */
  readonly others?: readonly string[];
  /**
   * What it emits puts a chat in the queue, and its endpoint gets `raises` that much later. A push is then timed from that
   * moment on.
   */
  readonly chats?: { readonly raises: string; readonly afterSeconds: number };
}

/** By the id of the event, or of its chat. */
const arrivals = new Map<string, number>();
let client: ApiClient;
let submission: { readonly event: string; readonly data: object; readonly org_id?: string };
let chats: Household['chats'];
let chatsMade = 0;
let goesOn = false;
let went: Promise<Experience> | undefined;

async function emit(sent: Map<string, Sent>): Promise<void> {
  if (chats !== undefined) {
    await emitChat(sent, chats.afterSeconds);
    return;
  }
  const atMs = performance.now();
  const [id] = await client.emit([submission]);
  sent.set(String(id), { emittedAtMs: atMs, atMs, acknowledgedAtMs: performance.now() });
}

async function emitChat(sent: Map<string, Sent>, afterSeconds: number): Promise<void> {
  const id = `cnv_${++chatsMade}`;
  const occurred_at = new Date().toISOString();
  const emittedAtMs = performance.now();
  const atMs = emittedAtMs + afterSeconds * 1_000;
  await client.emit([{ ...submission, occurred_at, data: { ...submission.data, conversation: { id } } }]);
  sent.set(id, { emittedAtMs, atMs, acknowledgedAtMs: performance.now() });
}

async function untilPushed(sent: ReadonlyMap<string, Sent>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline && [...sent.keys()].some((id) => !arrivals.has(id))) {
    await delay(LOOK_EVERY_MS);
  }
}

async function goOn(): Promise<Experience> {
  const sent = new Map<string, Sent>();
  const open = new Set<Promise<void>>();
  let refused = 0;
  while (goesOn) {
    const one = emit(sent).catch(() => {
      refused++;
    });
    open.add(one);
    void one.then(() => open.delete(one));
    await delay(chats === undefined ? EVERY_MS : CHATS_EVERY_MS);
  }
  await Promise.all(open);
  await untilPushed(sent);
  const acknowledged: number[] = [];
  const pushed: number[] = [];
  for (const [id, { emittedAtMs, atMs, acknowledgedAtMs }] of sent) {
    acknowledged.push(acknowledgedAtMs - emittedAtMs);
    const arrivedAtMs = arrivals.get(id);
    if (arrivedAtMs !== undefined) pushed.push(arrivedAtMs - atMs);
  }
  return { acknowledged, pushed, missing: sent.size - pushed.length, refused };
}

function chatIn(body: Buffer): string {
  return (JSON.parse(body.toString()) as { readonly data: { readonly conversation: { readonly id: string } } }).data
    .conversation.id;
}

const operations = {
  /** @returns the id of its endpoint */
  async moveIn(household: Household): Promise<string> {
    const { baseUrl, apiKey, service, event, data, others = [] } = household;
    const receiver = await aReceiver();
    chats = household.chats;
    const expected = chats?.raises ?? event;
    client = new ApiClient(baseUrl, service?.key ?? apiKey);
    submission = { event, data, ...(service === undefined ? {} : { org_id: service.orgId }) };
    receiver.answer = (_request, response, { headers, body }) => {
      if (headers['x-service-event'] !== expected) {
        setTimeout(() => response.end('ok'), ANSWERS_OTHERS_AFTER_MS);
        return;
      }
      const arrivedAtMs = performance.now();
      const id = chats === undefined ? String(headers['x-service-event-id']) : chatIn(body);
      arrivals.set(id, arrivedAtMs);
      response.end('ok');
    };
    const { id } = await new ApiClient(baseUrl, apiKey).createWebhook({
      url: receiver.url,
      events: [expected, ...others],
    });
    return id;
  },

  begin(_: null): void {
    goesOn = true;
    went = goOn();
  },

  async end(_: null): Promise<Experience> {
    goesOn = false;
    return (await went) ?? { acknowledged: [], pushed: [], missing: 0, refused: 0 };
  },
};

export type NeighbourOperations = typeof operations;

serveOperations(operations);
