import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient } from '../support/api-client.js';
import { aReceiver, type Receiver } from '../support/receiver.js';
import { Histogram } from '../bench/figures/histogram.js';

/** As often as this: within the default limits of a key. */
const EVERY_MS = 50;
/** Whatever has not come by then does not come. */
const PATIENCE_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** What a tenant that does nothing special got meanwhile. Latencies in milliseconds. */
export interface Experience {
  readonly acknowledged: Histogram;
  readonly pushed: Histogram;
  /** Events that were acknowledged and never pushed. */
  readonly missing: number;
  /** Requests that were not answered by 202. */
  readonly refused: number;
}

interface Sent {
  readonly atMs: number;
  readonly acknowledgedAtMs: number;
}

/** Another organization that emits an event after the other, and has an endpoint for them. */
export class Neighbour {
  readonly #arrivals = new Map<string, number>();

  private constructor(
    private readonly client: ApiClient,
    private readonly receiver: Receiver,
  ) {}

  static async movesIn(baseUrl: string, apiKey: string): Promise<Neighbour> {
    const receiver = await aReceiver();
    const neighbour = new Neighbour(new ApiClient(baseUrl, apiKey), receiver);
    receiver.answer = (_request, response, { headers }) => {
      neighbour.#arrivals.set(String(headers['x-service-event-id']), performance.now());
      response.end('ok');
    };
    await neighbour.client.createWebhook({ url: receiver.url, events: ['ticket.created'] });
    return neighbour;
  }

  /** Goes on as always while that happens, and for a moment after it. */
  async during(act: () => Promise<void>, restMs: number): Promise<Experience> {
    const sent = new Map<string, Sent>();
    const open = new Set<Promise<void>>();
    let refused = 0;
    const over = new AbortController();
    const acting = act().then(() => delay(restMs));
    const ended = acting.finally(() => {
      over.abort();
    });
    // It is waited for below, after what is still open.
    ended.catch(() => undefined);
    while (!over.signal.aborted) {
      const one = this.#emit(sent).catch(() => {
        refused++;
      });
      open.add(one);
      void one.then(() => open.delete(one));
      await delay(EVERY_MS);
    }
    await Promise.all(open);
    await ended;
    await this.#untilPushed(sent);
    const [acknowledged, pushed] = [new Histogram(), new Histogram()];
    let missing = 0;
    for (const [id, { atMs, acknowledgedAtMs }] of sent) {
      acknowledged.record(acknowledgedAtMs - atMs);
      const arrivedAtMs = this.#arrivals.get(id);
      if (arrivedAtMs === undefined) missing++;
      else pushed.record(arrivedAtMs - atMs);
    }
    return { acknowledged, pushed, missing, refused };
  }

  async leave(): Promise<void> {
    await this.receiver.close();
  }

  async #emit(sent: Map<string, Sent>): Promise<void> {
    const atMs = performance.now();
    const [id] = await this.client.emit([{ event: 'ticket.created', data: { n: randomUUID() } }]);
    sent.set(String(id), { atMs, acknowledgedAtMs: performance.now() });
  }

  async #untilPushed(sent: ReadonlyMap<string, Sent>): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (performance.now() < deadline && [...sent.keys()].some((id) => !this.#arrivals.has(id))) {
      await delay(LOOK_EVERY_MS);
    }
  }
}
