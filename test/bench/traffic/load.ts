import { randomUUID } from 'node:crypto';
import { ForkedProcess } from './forked-process.js';
import type { LoadOperations } from './load-main.js';
import { Published } from './published.js';
import type { PublishOrder } from './publishing.js';

/** The load generator: a process that ingests events and remembers when each was sent. */
export class Load {
  readonly #process = new ForkedProcess<LoadOperations>(new URL('./load-main.js', import.meta.url));

  get pid(): number {
    return this.#process.pid;
  }

  /**
   * Publishes what is ordered, and no more once `until` is aborted.
   * @throws when a request is not answered 202
   */
  async publish(order: Omit<PublishOrder, 'name'>, until?: AbortSignal): Promise<Published> {
    const name = randomUUID();
    until?.addEventListener('abort', () => void this.#process.ask('endPublishing', name).catch(() => undefined));
    return new Published(await this.#process.ask('publish', { ...order, name }));
  }

  async end(): Promise<void> {
    await this.#process.end();
  }
}
