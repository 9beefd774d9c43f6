import type { Admin } from 'kafkajs';
import type { KafkaConnection } from './kafka-connection.js';

/** A connection without requests for this long is closed, milliseconds. */
const IDLE_MS = 30_000;

/** Keeps a connection open between requests that follow each other. To open one takes longer than a request. */
export class KeptAdmin {
  #admin: Promise<Admin> | null = null;
  #idle: NodeJS.Timeout | null = null;

  constructor(private readonly connection: Pick<KafkaConnection, 'kafka'>) {}

  /** Opens the connection, so that the next request need not wait for it. Never rejects. */
  async prepare(): Promise<void> {
    await this.withAdmin(() => Promise.resolve()).catch(() => undefined);
  }

  async withAdmin<T>(act: (admin: Admin) => Promise<T>): Promise<T> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#admin ??= this.#open();
    const admin = this.#admin;
    try {
      return await act(await admin);
    } catch (error) {
      if (this.#admin === admin) await this.close();
      throw error;
    } finally {
      if (this.#idle !== null) clearTimeout(this.#idle);
      this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref();
    }
  }

  /** Closes the connection. A later request opens another one. */
  async close(): Promise<void> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    const admin = this.#admin;
    this.#admin = null;
    await admin?.then((one) => one.disconnect()).catch(() => undefined);
  }

  async #open(): Promise<Admin> {
    const admin = this.connection.kafka.admin({ retry: { retries: 3, initialRetryTime: 100 } });
    await admin.connect();
    return admin;
  }
}
