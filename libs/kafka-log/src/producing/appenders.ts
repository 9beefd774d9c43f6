import { Appender, type AppenderOptions } from './appender.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';

/** How often a produce request is tried again before its caller hears of it: some seconds, bounded for HTTP callers. */
const RETRIES = 4;

/**
 * Opens the appenders of a process, which connect and close together. An appender has one request on its way, and what
 * comes meanwhile waits: so each purpose has its own, and a burst of one delays no other.
 */
export class Appenders {
  readonly #opened: Appender[] = [];

  constructor(private readonly connection: KafkaConnection) {}

  open(options: Pick<AppenderOptions, 'gatherMs'> = {}): Appender {
    const appender = new Appender(this.connection, { retries: RETRIES, ...options });
    this.#opened.push(appender);
    return appender;
  }

  async connect(): Promise<void> {
    await Promise.all(this.#opened.map((appender) => appender.connect()));
  }

  /** Sends what waits, then closes. */
  async close(): Promise<void> {
    await Promise.all(this.#opened.map((appender) => appender.close()));
  }
}
