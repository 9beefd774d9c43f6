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
/** Whatever has not come by then does not come. */
const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 20;

interface Sent {
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
}

const arrivals = new Map<string, number>();
let client: ApiClient;
let submission: { readonly event: string; readonly data: object; readonly org_id?: string };
let goesOn = false;
let went: Promise<Experience> | undefined;

async function emit(sent: Map<string, Sent>): Promise<void> {
  const atMs = performance.now();
  const [id] = await client.emit([submission]);
  sent.set(String(id), { atMs, acknowledgedAtMs: performance.now() });
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
    await delay(EVERY_MS);
  }
  await Promise.all(open);
  await untilPushed(sent);
  const acknowledged: number[] = [];
  const pushed: number[] = [];
  for (const [id, { atMs, acknowledgedAtMs }] of sent) {
    acknowledged.push(acknowledgedAtMs - atMs);
    const arrivedAtMs = arrivals.get(id);
    if (arrivedAtMs !== undefined) pushed.push(arrivedAtMs - atMs);
  }
  return { acknowledged, pushed, missing: sent.size - pushed.length, refused };
}

const operations = {
  /** @returns the id of its endpoint */
  async moveIn({ baseUrl, apiKey, service, event, data, others = [] }: Household): Promise<string> {
    const receiver = await aReceiver();
    client = new ApiClient(baseUrl, service?.key ?? apiKey);
    submission = { event, data, ...(service === undefined ? {} : { org_id: service.orgId }) };
    receiver.answer = (_request, response, { headers }) => {
      if (headers['x-service-event'] !== event) {
        setTimeout(() => response.end('ok'), ANSWERS_OTHERS_AFTER_MS);
        return;
      }
      arrivals.set(String(headers['x-service-event-id']), performance.now());
      response.end('ok');
    };
    const { id } = await new ApiClient(baseUrl, apiKey).createWebhook({
      url: receiver.url,
      events: [event, ...others],
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
