import { Appender, type AppenderOptions } from './appender.js';
import type { KafkaConnection } from '../connection/kafka-connection.js';

/**
 * How often a produce request is retried before its caller gets the error; a few seconds, because HTTP callers wait.
 */
const RETRIES = 4;

/**
 * Opens the appenders of a process, which connect and close together. Each appender has one request under way, and
 * later records wait. So each purpose has its own appender, and its bursts delay no other.
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

  /** Sends waiting records, then closes. */
  async close(): Promise<void> {
    await Promise.all(this.#opened.map((appender) => appender.close()));
  }
}
