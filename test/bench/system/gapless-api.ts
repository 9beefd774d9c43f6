import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';

/** An endpoint as far as a benchmark has to know it. */
export interface Endpoint {
  readonly id: string;
}

interface EndpointHealth {
  readonly pending: number;
  readonly delivered_24h: number;
}

const POLL_MS = 250;
const SETTLE_LIMIT_MS = 300_000;

/** The operations that a benchmark needs around what it measures. */
export class GaplessApi {
  constructor(
    private readonly baseUrl: string,
    private readonly apiKey: string,
    private readonly signal: AbortSignal,
  ) {}

  /** @param settings the delivery settings that are not the default, as the API names them */
  async createEndpoint(
    url: string,
    events: readonly string[],
    settings: Readonly<Record<string, unknown>> = {},
  ): Promise<Endpoint> {
    const { data } = await this.#call<{ data: Endpoint }>('POST', '/external/webhooks', { url, events, ...settings });
    return data;
  }

  async deleteEndpoint({ id }: Endpoint): Promise<void> {
    await this.#call('DELETE', `/external/webhooks/${id}`);
  }

  /** Waits until the delivery log shows that all is delivered. */
  async untilDelivered(endpoints: readonly Endpoint[], eventsEach: number): Promise<void> {
    for (const { id } of endpoints) {
      await this.#until(`all of ${id}'s deliveries`, async () => {
        const health = await this.#healthOf(id);
        return health.delivered_24h >= eventsEach && health.pending === 0;
      });
    }
  }

  /** Waits until the delivery log has all of the deliveries, delivered or not. */
  async untilScheduled({ id }: Endpoint, events: number): Promise<void> {
    await this.#until(`all of ${id}'s deliveries`, async () => {
      const health = await this.#healthOf(id);
      return health.delivered_24h + health.pending >= events;
    });
  }

  /** The seq of the newest event in the feed. */
  async head(): Promise<number> {
    const answer = await this.#request('GET', '/external/events?limit=1');
    await answer.body.dump();
    return Number(answer.headers['x-head-sequence']);
  }

  /** Reads one page of the feed, and throws it away. */
  async readPage(since: number, limit: number): Promise<void> {
    const answer = await this.#request('GET', `/external/events?limit=${limit}&since=${since}`);
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`the feed was answered ${answer.statusCode}: ${text}`);
  }

  async untilHead(seq: number): Promise<void> {
    await this.#until(`event ${seq}`, async () => (await this.head()) >= seq);
  }

  async #healthOf(endpointId: string): Promise<EndpointHealth> {
    const { data } = await this.#call<{ data: { health: EndpointHealth } }>('GET', `/external/webhooks/${endpointId}`);
    return data.health;
  }

  async #until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + SETTLE_LIMIT_MS;
    while (!(await holds())) {
      if (performance.now() > deadline) throw new Error(`${what} did not show within ${SETTLE_LIMIT_MS / 1_000} s`);
      await delay(POLL_MS, undefined, { signal: this.signal });
    }
  }

  async #call<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const answer = await this.#request(method, path, body);
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new Error(`${method} ${path} was answered ${answer.statusCode}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async #request(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) {
    return request(`${this.baseUrl}/api/v1${path}`, {
      method,
      headers: {
        'x-api-key': this.apiKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: this.signal,
    });
  }
}
