import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { parseOrgId, seqFromText, type OrgId, type Seq } from '#libs/domain';
import { backOffMs, type Logger } from '#libs/runtime';
import { HEADS_CHANNEL } from '../projections/feed-projection.js';

export interface HeadNotificationsOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
  readonly logger: Logger;
  /** The org's feed has come as far as `seq`. */
  readonly onHead: (orgId: OrgId, seq: Seq) => void;
  /** Any feed may have new events without a notification: every waiting reader has to look. */
  readonly onGap: () => void;
}

const CONNECT_TIMEOUT_MS = 3_000;
/** A connection that died without a word is noticed within both of these. */
const HEARTBEAT_MS = 10_000;
const QUERY_TIMEOUT_MS = 5_000;

/** Listens on one connection for feeds that move on; connects again for as long as it takes. */
export class HeadNotifications {
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(private readonly options: HeadNotificationsOptions) {}

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await this.#listen(() => {
          failures = 0;
        });
      } catch (error) {
        this.options.logger.warn({ err: error }, 'feed_heads.connection_lost');
      }
      await delay(backOffMs(Math.max(1, failures)), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Listens until the connection is lost or `stop` is called. */
  async #listen(onListening: () => void): Promise<void> {
    const { signal } = this.#stopping;
    const client = new Client({
      connectionString: this.options.databaseUrl,
      application_name: `${this.options.applicationName}-listen`,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
    });
    const ended = new AbortController();
    const lost = new Promise<Error | null>((resolve) => {
      client.on('error', resolve);
      client.on('end', () => {
        resolve(null);
      });
      signal.addEventListener(
        'abort',
        () => {
          resolve(null);
        },
        // Each connection listens for as long as it lasts, not for as long as the process.
        { once: true, signal: ended.signal },
      );
    });
    client.on('notification', ({ payload }) => {
      this.#notify(payload ?? '');
    });
    let heartbeat: NodeJS.Timeout | undefined;
    try {
      await client.connect();
      await client.query(`listen ${HEADS_CHANNEL}`);
      onListening();
      // Notifications from before this connection listened are lost.
      this.options.onGap();
      heartbeat = setInterval(() => {
        client.query('select 1').catch(() => client.end().catch(() => undefined));
      }, HEARTBEAT_MS);
      const error = await lost;
      if (error !== null) throw error;
    } finally {
      clearInterval(heartbeat);
      ended.abort();
      // Not awaited: a server that is gone does not say goodbye.
      client.end().catch(() => undefined);
    }
  }

  #notify(payload: string): void {
    const [orgText, seqText = ''] = payload.split(':');
    const orgId = parseOrgId(orgText);
    // Anybody with access to the database can notify anything.
    if (orgId !== undefined && /^\d{1,15}$/.test(seqText)) this.options.onHead(orgId, seqFromText(seqText));
  }
}
