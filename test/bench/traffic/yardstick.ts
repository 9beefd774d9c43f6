import { EVENT_BYTES } from './event-bodies.js';
import { ForkedProcess } from './forked-process.js';
import type { Receiver } from './receiver.js';
import type { YardstickOperations } from './yardstick-main.js';

const REQUESTS = 12_000;
/** What a process compiles in its first second would count against the first measurement. */
const WARM_UP_REQUESTS = 6_000;
const CONNECTIONS = 64;

/**
 * What this machine can do at this moment at most: a process of its own that does nothing but sign a body and POST it to
 * the receiver, with 64 requests on their way.
 */
export class Yardstick {
  readonly #process = new ForkedProcess<YardstickOperations>(new URL('./yardstick-main.js', import.meta.url));
  readonly #isWarm = new Set<Receiver>();

  /** @param eventBytes of the body @returns requests per second */
  async measure(receiver: Receiver, eventBytes = EVENT_BYTES): Promise<number> {
    const group = await receiver.open(1);
    const [url = ''] = group.urls;
    const order = { url, connections: CONNECTIONS, bytes: eventBytes };
    if (!this.#isWarm.has(receiver)) await this.#process.ask('run', { ...order, requests: WARM_UP_REQUESTS });
    this.#isWarm.add(receiver);
    const perSecond = await this.#process.ask('run', { ...order, requests: REQUESTS });
    await group.forget();
    return perSecond;
  }

  async end(): Promise<void> {
    await this.#process.end();
  }
}
