import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { parseOrgId, seqFromText, type OrgId, type Seq } from '#libs/domain';
import { backOffMs, databaseName, type Logger } from '#libs/runtime';
import { ENDED_CREDENTIALS_CHANNEL } from '../access/ended-credentials.js';
import { KEEP_ALIVE } from '../connection/keep-alive.js';
import { HEADS_CHANNEL } from '../projections/feed-projection.js';

export interface HeadNotificationsOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
  readonly logger: Logger;
  /** Called when the org's feed has reached `seq`. */
  readonly onHead: (orgId: OrgId, seq: Seq) => void;
  /** Called when credentials of the org have ended; `null`: of any org. */
  readonly onEndedCredentials: (orgId: OrgId | null) => void;
  /** Called when notifications may have been lost: every waiting reader must check its feed and its credentials. */
  readonly onGap: () => void;
}

const CONNECT_TIMEOUT_MS = 3_000;
/** A connection that broke silently is noticed within both of these times, milliseconds. */
const HEARTBEAT_MS = 3_000;
const QUERY_TIMEOUT_MS = 3_000;

/** Listens on one connection for new heads of feeds and for ended credentials, and reconnects without a limit. */
export class HeadNotifications {
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #isListening = false;

  constructor(private readonly options: HeadNotificationsOptions) {}

  /** Whether it would hear of a new head now, as far as is known. */
  get isListening(): boolean {
    return this.#isListening;
  }

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
        const server = databaseName(this.options.databaseUrl);
        this.options.logger.warn({ err: error, server }, 'feed_heads.connection_lost');
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
      ...KEEP_ALIVE,
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
        // The listener lasts as long as its connection, not as long as the process.
        { once: true, signal: ended.signal },
      );
    });
    client.on('notification', ({ channel, payload }) => {
      if (channel === HEADS_CHANNEL) this.#notify(payload ?? '');
      else this.options.onEndedCredentials(parseOrgId(payload) ?? null);
    });
    let heartbeat: NodeJS.Timeout | undefined;
    try {
      await client.connect();
      await client.query(`listen ${HEADS_CHANNEL}; listen ${ENDED_CREDENTIALS_CHANNEL}`);
      onListening();
      this.#isListening = true;
      // Notifications from before this connection are lost.
      this.options.onGap();
      heartbeat = setInterval(() => {
        client.query('select 1').catch(() => client.end().catch(() => undefined));
      }, HEARTBEAT_MS);
      const error = await lost;
      if (error !== null) throw error;
    } finally {
      this.#isListening = false;
      clearInterval(heartbeat);
      ended.abort();
      // Not awaited, because a dead server does not answer.
      client.end().catch(() => undefined);
    }
  }

  #notify(payload: string): void {
    const [orgText, seqText = ''] = payload.split(':');
    const orgId = parseOrgId(orgText);
    // Check the payload: any user of the database can send notifications.
    if (orgId !== undefined && /^\d{1,15}$/.test(seqText)) this.options.onHead(orgId, seqFromText(seqText));
  }
}
