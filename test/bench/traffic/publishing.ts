import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { bodyOfTickets, ingestBodies } from './event-bodies.js';
import { monotonicMs } from './monotonic-clock.js';
import { post } from './post.js';

const INGEST_PATH = '/api/v1/internal/events';

export type Pace =
  /** So many requests, as fast as the answers come. */
  | { readonly kind: 'burst'; readonly requests: number }
  /** Requests at a fixed rate, whether or not answers come. */
  | { readonly kind: 'steady'; readonly perSecond: number; readonly forMs: number };

/** What to publish, where, as whom and how fast. */
export interface PublishOrder {
  /** By which it can be ended early. */
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly event: string;
  /** The orgs whose turn it is, one after the other, with each event; without any it is the key's. */
  readonly orgIds: readonly string[];
  readonly eventsEachRequest: number;
  /** Of an event; as they are usual if not given. */
  readonly eventBytes?: number | undefined;
  /** Without `orgIds`: so many tickets that events are about, in turn; one if not given. */
  readonly tickets?: number;
  /** How many requests are on their way at the same time, at most. */
  readonly connections: number;
  readonly pace: Pace;
}

/** What was acknowledged: one entry for each request, in the order of the answers. */
export interface PublishedEvents {
  /** Of all of the events, request after request. */
  readonly eventIds: readonly string[];
  readonly eventsEachRequest: number;
  /** Right before each request was handed to a connection, and when its answer was there, by `monotonicMs`. */
  readonly sentAt: Float64Array;
  readonly acknowledgedAt: Float64Array;
}

/** Ingests events. Answers are kept as they come and read when all is over. */
export class Publishing {
  readonly #pool: Pool;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #bodies: readonly Buffer[];
  readonly #sentAt: number[] = [];
  readonly #acknowledgedAt: number[] = [];
  readonly #answers: (readonly Buffer[])[] = [];
  #sent = 0;
  #failure: Error | undefined;
  #isEnded = false;

  constructor(private readonly order: PublishOrder) {
    this.#pool = new Pool(order.baseUrl, { connections: order.connections, pipelining: 1 });
    this.#headers = { 'x-api-key': order.apiKey, 'content-type': 'application/json' };
    const { eventsEachRequest, orgIds, tickets = 1 } = order;
    const shape = { event: order.event, bytes: order.eventBytes };
    this.#bodies =
      tickets > 1 ? [bodyOfTickets(shape, eventsEachRequest, tickets)] : ingestBodies(shape, eventsEachRequest, orgIds);
  }

  /** @throws when a request is not answered 202 */
  async run(): Promise<PublishedEvents> {
    const { pace, eventsEachRequest } = this.order;
    try {
      await (pace.kind === 'burst' ? this.#burst(pace.requests) : this.#steadily(pace));
      if (this.#failure !== undefined) throw this.#failure;
    } finally {
      await this.#pool.destroy();
    }
    return {
      eventIds: this.#answers.flatMap(eventIdsOf),
      eventsEachRequest,
      sentAt: Float64Array.from(this.#sentAt),
      acknowledgedAt: Float64Array.from(this.#acknowledgedAt),
    };
  }

  /** Sends no more. */
  end(): void {
    this.#isEnded = true;
  }

  async #burst(requests: number): Promise<void> {
    const sendOn = async () => {
      while (this.#sent < requests && !this.#isEnded) await this.#post();
    };
    await Promise.all(Array.from({ length: this.order.connections }, sendOn));
  }

  async #steadily({ perSecond, forMs }: { readonly perSecond: number; readonly forMs: number }): Promise<void> {
    const began = monotonicMs();
    const total = Math.round((perSecond * forMs) / 1_000);
    const underWay: Promise<void>[] = [];
    while (this.#sent < total && !this.#isEnded) {
      const waitMs = began + (this.#sent * 1_000) / perSecond - monotonicMs();
      if (waitMs > 0) await delay(waitMs);
      underWay.push(this.#post());
    }
    await Promise.all(underWay);
  }

  /** Notes a failure, after which nothing more is sent. */
  async #post(): Promise<void> {
    const body = this.#bodies[this.#sent++ % this.#bodies.length] ?? Buffer.of();
    const sentAt = monotonicMs();
    try {
      const { statusCode, chunks } = await post(this.#pool, INGEST_PATH, this.#headers, body);
      this.#acknowledgedAt.push(monotonicMs());
      this.#sentAt.push(sentAt);
      this.#answers.push(chunks);
      if (statusCode !== 202) throw new Error(`ingest was answered ${statusCode}: ${Buffer.concat(chunks).toString()}`);
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
      this.end();
    }
  }
}

function eventIdsOf(chunks: readonly Buffer[]): readonly string[] {
  const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: readonly { id: string }[] };
  return data.map(({ id }) => id);
}
