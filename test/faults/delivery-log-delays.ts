import { setTimeout as delay } from 'node:timers/promises';
import { Histogram } from '../bench/figures/histogram.js';
import type { ApiClient } from '../support/api-client.js';
import type { CustomerEndpoint } from './customer.js';

const POLL_MS = 50;
const PAGE = 100;

/** Measures how long after a push was accepted the delivery log of its endpoint shows it as delivered. */
export class DeliveryLogDelays {
  readonly #seen = new Set<string>();
  #isOver = false;
  #running: Promise<void> | null = null;

  constructor(
    private readonly delays: Histogram,
    private readonly client: () => ApiClient,
    private readonly endpoint: { readonly id: string; readonly customer: CustomerEndpoint },
  ) {}

  /** Counts what is pushed from now on. */
  start(): void {
    for (const id of this.endpoint.customer.arrivals.keys()) this.#seen.add(id);
    this.#running ??= this.#run();
  }

  async finish(): Promise<void> {
    this.#isOver = true;
    await this.#running;
    // Those that the log does not show at all count with the time that they have waited so far.
    for (const [id, at] of this.endpoint.customer.arrivedAt) {
      if (!this.#seen.has(id)) this.delays.record(performance.now() - at);
    }
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      // An answer that does not come shows in the delays.
      await this.#look().catch(() => undefined);
      await delay(POLL_MS);
    }
  }

  async #look(): Promise<void> {
    const path = `/external/webhooks/${this.endpoint.id}/deliveries?status=delivered&limit=${PAGE}`;
    const { status, text } = await this.client().request('GET', path);
    if (status !== 200) return;
    const now = performance.now();
    const { data } = JSON.parse(text) as { data: readonly { event_id: string }[] };
    for (const { event_id: id } of data) {
      const at = this.endpoint.customer.arrivedAt.get(id);
      if (this.#seen.has(id) || at === undefined) continue;
      this.#seen.add(id);
      this.delays.record(now - at);
    }
  }
}
