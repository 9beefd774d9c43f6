import { setTimeout as delay } from 'node:timers/promises';
import { Histogram } from '../figures/histogram.js';
import { ForkedProcess } from './forked-process.js';
import type { Manner } from './inbox.js';
import type { GroupProgress, ReceiverOperations } from './receiver-main.js';
import { Receipts } from './receipts.js';

/** How long nothing may come in while something is waited for. */
const STALL_MS = 60_000;
const POLL_MS = 20;

/** Endpoints of a customer, which are looked at together. */
export class InboxGroup {
  constructor(
    private readonly process: ForkedProcess<ReceiverOperations>,
    private readonly number: number,
    readonly urls: readonly string[],
  ) {}

  progress(): Promise<GroupProgress> {
    return this.process.ask('progress', this.number);
  }

  async receipts(): Promise<Receipts> {
    return new Receipts(await this.process.ask('receipts', this.number));
  }

  /** How long it took from each answer to a batch until the next one was there. */
  async idle(): Promise<Histogram> {
    return Histogram.of([...(await this.process.ask('idleMs', this.number))]);
  }

  /** Forgets what came; the endpoints go on answering. */
  async forget(): Promise<void> {
    await this.process.ask('forget', this.number);
  }

  /**
   * Waits until the endpoints have so many events, all of them together.
   * @throws when nothing comes any more, or the signal's reason
   */
  async untilReceived(total: number, signal: AbortSignal): Promise<void> {
    let before = -1;
    let stalledSince = performance.now();
    for (;;) {
      const { received } = await this.progress();
      if (received >= total) return;
      if (received !== before) stalledSince = performance.now();
      before = received;
      if (performance.now() - stalledSince > STALL_MS) {
        throw new Error(`only ${received} of ${total} deliveries came; none for ${STALL_MS / 1_000} s`);
      }
      await delay(POLL_MS, undefined, { signal });
    }
  }
}

/** The customers' HTTP server: a process on loopback with any number of endpoints. */
export class Receiver {
  readonly #process = new ForkedProcess<ReceiverOperations>(new URL('./receiver-main.js', import.meta.url));

  get pid(): number {
    return this.#process.pid;
  }

  async open(endpoints: number, manner: Manner = { kind: 'at_once' }): Promise<InboxGroup> {
    const { number, urls } = await this.#process.ask('open', { endpoints, manner });
    return new InboxGroup(this.#process, number, urls);
  }

  async end(): Promise<void> {
    await this.#process.end();
  }
}
