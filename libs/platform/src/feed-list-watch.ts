import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import {
  awayReason,
  FeedLists,
  isPostgresAway,
  LOOK_AT_FEED_LIST,
  LOOKS_AT_FEED_LIST,
  PostgresProbe,
  SecretCipher,
  Store,
  StoreNotOpenError,
  type FeedListLook,
} from '#libs/postgres';
import type { Config, Logger } from '#libs/runtime';
import { NextFeedList } from './next-feed-list.js';
import { RegularWork } from './regular-work.js';
import { CONFIG, LOGGER } from './tokens.js';

const LOOK_EVERY_MS = 1_000;
/** How long a look holds. Afterwards nothing uses the feed before another look: the process may have been frozen. */
const HOLDS_MS = 5_000;

/** While the feed is about to move. `gapless rebuild --to` closes the feed for a little longer than a look holds. */
const LOOK_EVERY_ANNOUNCED_MS = 150;
const HOLDS_ANNOUNCED_MS = 600;
const LOOK_EVERY_CLOSED_MS = 30;

/**
 * Follows the list of databases that holds the feed. While it changes, nothing in this process reads or writes the feed,
 * so that no organization's head goes back (ADR 106).
 */
@Injectable()
export class FeedListWatch extends RegularWork implements OnApplicationShutdown {
  readonly #probe: PostgresProbe;
  #isAdopted = false;
  #hasEnded = false;
  #reported = '';
  /** Whether the connection may have the name of a process that has opened the next list. */
  #isNamed = false;
  #looking: Promise<FeedListLook | undefined> | null = null;
  readonly #next: NextFeedList;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly store: Store,
    private readonly cipher: SecretCipher,
    private readonly lists: FeedLists,
  ) {
    super({ everyMs: LOOK_EVERY_MS });
    this.#probe = new PostgresProbe({ databaseUrl: config.databaseUrl, applicationName: LOOKS_AT_FEED_LIST });
    this.#next = new NextFeedList({
      serversOf: (id) => lists.serversOf(id, cipher),
      isMain: (server) => server.store === store,
      onFailure: (error) => {
        logger.error({ err: error }, 'feed_list.next_cannot_be_opened');
      },
      nowMs: () => performance.now(),
    });
    // Requests come before the first look, and the feed may have left the list of the settings.
    store.feed.leaseBy(async () => {
      if (!this.#isAdopted) throw new StoreNotOpenError();
      await this.#look();
    });
    store.feed.lookedAt(0, false);
  }

  /** Uses the list that is served, whatever the settings say. @throws InstallationMismatchError */
  async adopt(): Promise<void> {
    const { projectionDatabaseUrls } = this.config;
    const isOther = await this.lists.adopt(projectionDatabaseUrls, () => Promise.resolve(this.cipher));
    if (isOther) {
      const servers = this.store.feed.all.map(({ name }) => name);
      this.logger.warn({ servers }, 'feed_list.settings_differ');
    }
    this.#isAdopted = true;
    await this.#look();
  }

  /** It goes on: requests and batches that are under way use the feed until they have ended. */
  override beforeApplicationShutdown(): Promise<void> {
    return Promise.resolve();
  }

  async onApplicationShutdown(): Promise<void> {
    await super.beforeApplicationShutdown();
    this.#hasEnded = true;
    await this.#looking?.catch(() => undefined);
    this.#probe.close();
    await this.#next.leave();
    // What still runs needs no further look.
    this.store.feed.lookedAt(Infinity, false);
  }

  protected async act(): Promise<number> {
    if (!this.#isAdopted) return LOOK_EVERY_MS;
    const look = await this.#look();
    await this.#prepare(look);
    if (look?.is_closed === true) return LOOK_EVERY_CLOSED_MS;
    return look?.is_announced === true ? LOOK_EVERY_ANNOUNCED_MS : LOOK_EVERY_MS;
  }

  protected failed(error: unknown): void {
    // A main database that is away is reported elsewhere.
    const reason = awayReason(error);
    if (isPostgresAway(error) || reason === this.#reported) return;
    this.#reported = reason;
    this.logger.error({ err: error }, 'feed_list.unknown');
  }

  /** Looks which list holds. Everyone who asks meanwhile waits for the same answer. */
  async #look(): Promise<FeedListLook | undefined> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<FeedListLook | undefined> {
    if (this.#hasEnded) return undefined;
    // Before the question, so that the answer is not held for longer than the command assumes.
    const fromMs = performance.now();
    const [look] = await this.#probe.query<FeedListLook & { readonly [column: string]: unknown }>(LOOK_AT_FEED_LIST);
    if (look !== undefined && look.id !== null && look.id !== this.store.feed.listId) await this.#change(look.id);
    this.store.feed.lookedAt(
      fromMs + (look?.is_announced === true ? HOLDS_ANNOUNCED_MS : HOLDS_MS),
      look?.is_closed === true,
    );
    return look;
  }

  async #change(id: string): Promise<void> {
    const { feed } = this.store;
    const opened = this.#next.take(id);
    const servers = opened ?? (await this.lists.serversOf(id, this.cipher));
    if (servers === undefined) throw new Error('the list of databases has just changed');
    feed.use(id, servers, opened !== undefined);
    const names = feed.all.map(({ name }) => name);
    const accounts = 'those of the move, until PROJECTION_DATABASE_URLS names these servers and the process restarts';
    this.logger.info({ servers: names, accounts }, 'feed_list.changed');
  }

  /** Opens the databases of the next list. The command waits until each process has. */
  async #prepare(look: FeedListLook | undefined): Promise<void> {
    const id = look?.is_announced === true ? look.next_id : null;
    await this.#next.prepare(id);
    if (id !== null && this.#next.isOpen(id)) {
      this.#isNamed = true;
      // Each time, because a new connection has another name.
      await this.#probe.query(`set application_name to '${LOOKS_AT_FEED_LIST} ${id}'`);
    } else if (this.#isNamed) {
      // A move that goes on announces the same id, and the databases may be away by then.
      await this.#probe.query('reset application_name');
      this.#isNamed = false;
    }
  }
}
