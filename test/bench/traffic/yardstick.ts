import { EVENT_BYTES } from './event-bodies.js';
import { ForkedProcess } from './forked-process.js';
import type { Receiver } from './receiver.js';
import type { YardstickOperations } from './yardstick-main.js';

/** Of each measurement. */
const MEASURED_MS = 2_000;
/** What a process compiles in its first second would count against the first measurement. */
const WARM_UP_MS = 1_000;
const CONNECTIONS = 64;

/**
 * What this machine can do at this moment at most: a process of its own that does nothing but sign a body and POST it to
 * the receiver, with 64 requests on their way.
 */
export class Yardstick {
  readonly #process = new ForkedProcess<YardstickOperations>(new URL('./yardstick-main.js', import.meta.url));
  #isWarm = false;

  get pid(): number {
    return this.#process.pid;
  }

  /** @param eventBytes of the body @returns requests per second */
  async measure(receiver: Receiver, eventBytes = EVENT_BYTES): Promise<number> {
    const group = await receiver.open(1);
    const [url = ''] = group.urls;
    const order = { url, connections: CONNECTIONS, bytes: eventBytes };
    if (!this.#isWarm) await this.#process.ask('run', { ...order, forMs: WARM_UP_MS });
    this.#isWarm = true;
    const perSecond = await this.#process.ask('run', { ...order, forMs: MEASURED_MS });
    await group.forget();
    return perSecond;
  }

  async end(): Promise<void> {
    await this.#process.end();
  }
}
