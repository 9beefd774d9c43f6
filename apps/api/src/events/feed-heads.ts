import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { OrgId, Seq } from '#libs/domain';
import { CREDENTIALS_FORGOTTEN_MS, HeadNotifications, Store } from '#libs/postgres';
import { CONFIG, LOGGER } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';
import { HeadWatch, OrgHead } from './head-watch.js';

const APPLICATION_NAME = 'gapless-api';

/** How many orgs' heads are known while nobody waits: of a long poll until the next one. */
const REMEMBERED_ORGS = 10_000;

/** Wakes waiting readers when the feed of their org has new events. One database connection serves all of them. */
@Injectable()
export class FeedHeads implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #heads = new Map<OrgId, OrgHead>();
  /** The orgs that nobody watches, the least recently watched first. */
  readonly #unwatched = new Set<OrgId>();
  /** Of the main database. */
  readonly #main: HeadNotifications;
  /** Of the others that share the feed. */
  #others: readonly HeadNotifications[] = [];
  /** Those of an earlier list, until they have stopped. */
  #stopping: Promise<unknown> = Promise.resolve();
  /** The checks that are to come, by org; `null` for all orgs. */
  readonly #checks = new Map<OrgId | null, NodeJS.Timeout>();
  /** Those of them after which another one is to come. */
  readonly #checksAgain = new Set<OrgId | null>();
  #isClosing = false;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly store: Store,
  ) {
    this.#main = new HeadNotifications({
      databaseUrl: config.databaseUrl,
      applicationName: APPLICATION_NAME,
      logger,
      onHead: this.#onHead,
      onEndedCredentials: (orgId) => {
        this.#checkSoon(orgId);
      },
      onGap: () => {
        this.wakeAll();
        this.#checkSoon(null);
      },
    });
    store.feed.onChange(() => {
      if (this.#isClosing) return;
      const left = this.#others;
      this.#stopping = Promise.all([this.#stopping, ...left.map((notifications) => notifications.stop())]);
      this.#listenToOthers();
      // The main database may be the only one now, and notifies nobody of what happened before.
      this.wakeAll();
    });
  }

  onApplicationBootstrap(): void {
    this.#main.start();
    this.#listenToOthers();
  }

  #listenToOthers(): void {
    this.#others = this.store.feed.others.map(
      ({ store: { databaseUrl } }) =>
        new HeadNotifications({
          databaseUrl,
          applicationName: APPLICATION_NAME,
          logger: this.logger,
          onHead: this.#onHead,
          onEndedCredentials: () => undefined,
          onGap: () => {
            this.wakeAll();
          },
        }),
    );
    for (const notifications of this.#others) notifications.start();
  }

  readonly #onHead = (orgId: OrgId, seq: Seq): void => {
    this.moved(orgId, seq);
  };

  /** Ends all waits before the server waits for requests to end. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#isClosing = true;
    for (const timer of this.#checks.values()) clearTimeout(timer);
    for (const { watches } of this.#heads.values()) for (const watch of [...watches]) watch.close();
    await Promise.all([this.#stopping, ...[this.#main, ...this.#others].map((notifications) => notifications.stop())]);
  }

  /** @param after the last seq that the reader has seen */
  watch(orgId: OrgId, after: Seq): HeadWatch {
    const head = this.#heads.get(orgId) ?? new OrgHead();
    this.#heads.set(orgId, head);
    this.#unwatched.delete(orgId);
    const { watches } = head;
    const watch: HeadWatch = new HeadWatch(after, head, this.#hearsAll, () => {
      if (watches.delete(watch) && watches.size === 0) this.#keepUnwatched(orgId);
    });
    if (this.#isClosing) this.#keepUnwatched(orgId);
    else watches.add(watch);
    return watch;
  }

  #keepUnwatched(orgId: OrgId): void {
    this.#unwatched.add(orgId);
    const [first] = this.#unwatched;
    if (this.#unwatched.size <= REMEMBERED_ORGS || first === undefined) return;
    this.#unwatched.delete(first);
    this.#heads.delete(first);
  }

  readonly #hearsAll = (): boolean => this.#main.isListening && this.#others.every(({ isListening }) => isListening);

  /** Notes what a read has found, if the org's head is known. */
  raise(orgId: OrgId, seq: Seq): void {
    this.#heads.get(orgId)?.raise(seq);
  }

  moved(orgId: OrgId, seq: Seq): void {
    this.#heads.get(orgId)?.moved(seq);
  }

  wakeAll(): void {
    for (const head of this.#heads.values()) head.moved(null);
  }

  /**
   * Lets readers check their credentials once those that ended are no longer held. Many notifications are one check, and
   * one more: at the first check, what ended shortly before it may still be held.
   */
  #checkSoon(orgId: OrgId | null): void {
    if (this.#isClosing) return;
    if (this.#checks.has(orgId)) {
      this.#checksAgain.add(orgId);
      return;
    }
    const check = () => {
      this.#checks.delete(orgId);
      if (this.#checksAgain.delete(orgId)) this.#checkSoon(orgId);
      const all = orgId === null ? [...this.#heads.values()] : [this.#heads.get(orgId)];
      for (const head of all) for (const watch of head?.watches ?? []) watch.check();
    };
    this.#checks.set(orgId, setTimeout(check, CREDENTIALS_FORGOTTEN_MS).unref());
  }
}
