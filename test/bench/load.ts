import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { Histogram } from './histogram.js';

const INGEST_PATH = '/api/v1/internal/events';

/** Where and as whom events are ingested. */
export interface IngestTarget {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/**
 * Ingests events, and remembers when each was sent: on the monotonic clock of this process, right before the request is
 * handed to a connection.
 */
export class Load {
  /** When each acknowledged event was sent, by its id. */
  readonly sentAt = new Map<string, number>();
  readonly acknowledgements = new Histogram();
  firstSentAt = Number.NaN;
  lastAcknowledgedAt = Number.NaN;
  readonly #pool: Pool;
  readonly #headers: Record<string, string>;

  /** @param connections how many requests are on their way at the same time, at most */
  constructor(
    target: IngestTarget,
    private readonly options: { readonly connections: number; readonly signal: AbortSignal },
  ) {
    this.#pool = new Pool(target.baseUrl, { connections: options.connections, pipelining: 1 });
    this.#headers = { 'x-api-key': target.apiKey, 'content-type': 'application/json' };
  }

  /** Sends the body `requests` times, as fast as the answers come. */
  async burst(requests: number, body: Buffer): Promise<void> {
    let left = requests;
    const sendOn = async () => {
      while (left-- > 0) await this.#post(body);
    };
    await Promise.all(Array.from({ length: this.options.connections }, sendOn));
  }

  /** Sends the body at a fixed rate, whether or not answers come, for the time or until `until` is aborted. */
  async steadily(rate: { perSecond: number; forMs: number; until?: AbortSignal }, body: Buffer): Promise<void> {
    const began = performance.now();
    const total = Math.round((rate.perSecond * rate.forMs) / 1_000);
    const underWay: Promise<void>[] = [];
    const failed = new AbortController();
    for (let sent = 0; sent < total && !failed.signal.aborted && rate.until?.aborted !== true; sent++) {
      const waitMs = began + (sent * 1_000) / rate.perSecond - performance.now();
      if (waitMs > 0) await delay(waitMs, undefined, { signal: this.options.signal });
      underWay.push(
        this.#post(body).catch((error: unknown) => {
          failed.abort(error);
        }),
      );
    }
    await Promise.all(underWay);
    failed.signal.throwIfAborted();
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #post(body: Buffer): Promise<void> {
    const sentAt = performance.now();
    const { signal } = this.options;
    signal.throwIfAborted();
    const answer = await this.#pool.request({ path: INGEST_PATH, method: 'POST', headers: this.#headers, body });
    const text = await answer.body.text();
    const acknowledgedAt = performance.now();
    if (answer.statusCode !== 202) throw new Error(`ingest was answered ${answer.statusCode}: ${text}`);
    const { data } = JSON.parse(text) as { data: readonly { id: string }[] };
    for (const { id } of data) this.sentAt.set(id, sentAt);
    this.acknowledgements.record(acknowledgedAt - sentAt);
    if (Number.isNaN(this.firstSentAt)) this.firstSentAt = sentAt;
    this.firstSentAt = Math.min(this.firstSentAt, sentAt);
    this.lastAcknowledgedAt = acknowledgedAt;
  }
}
