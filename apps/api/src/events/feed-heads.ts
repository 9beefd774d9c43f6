import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { OrgId, Seq } from '#libs/domain';
import { CREDENTIALS_FORGOTTEN_MS, HeadNotifications, Store } from '#libs/postgres';
import { CONFIG, LOGGER } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';

const APPLICATION_NAME = 'gapless-api';

/** How a wait ended. `check`: the reader's credentials may have ended. */
export type Waited = 'moved' | 'check' | 'timeout' | 'ended';

/** Watches the head of an org's feed for one reader. */
export class HeadWatch {
  #isMoved = false;
  #isCheckDue = false;
  #wake: ((waited: Waited) => void) | null = null;

  /** @param after the last seq that the reader has seen; the head has moved once it is greater */
  constructor(
    private after: Seq,
    private readonly heads: ReadonlySet<unknown>,
    private readonly end: () => void,
  ) {}

  /** Call this before you read the feed: if the head moves later, the next wait ends at once. */
  reset(): void {
    this.#isMoved = false;
  }

  /** Notes that the reader has seen every event up to `seq`. */
  seen(seq: Seq): void {
    if (seq > this.after) this.after = seq;
  }

  /** Waits until the head has moved since the last `reset`, for at most `ms`. Closing the watch ends the wait. */
  wait(ms: number): Promise<Waited> {
    if (!this.heads.has(this)) return Promise.resolve('ended');
    if (this.takeCheck()) return Promise.resolve('check');
    if (this.#isMoved) return Promise.resolve('moved');
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.('timeout'), ms);
      this.#wake = (waited) => {
        clearTimeout(timer);
        this.#wake = null;
        resolve(waited);
      };
    });
  }

  /** @param seq the new head; `null` if the head may have moved without a notification */
  notify(seq: Seq | null): void {
    if (seq !== null && seq <= this.after) return;
    this.#isMoved = true;
    this.#wake?.('moved');
  }

  /** Asks the reader to check its credentials, now or as soon as it waits. */
  check(): void {
    if (this.#wake === null) this.#isCheckDue = true;
    else this.#wake('check');
  }

  /** Whether the reader has to check its credentials. After that it need not, until the next time. */
  takeCheck(): boolean {
    const isDue = this.#isCheckDue;
    this.#isCheckDue = false;
    return isDue;
  }

  /** Ends the current wait and every later one. */
  close(): void {
    this.end();
    this.#wake?.('ended');
  }
}

/** Wakes waiting readers when the feed of their org has new events. One database connection serves all of them. */
@Injectable()
export class FeedHeads implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #watches = new Map<OrgId, Set<HeadWatch>>();
  /** Of the main database. */
  readonly #main: HeadNotifications;
  /** Of the others that share the feed. */
  #others: readonly HeadNotifications[] = [];
  /** Those of an earlier list, until they have stopped. */
  #stopping: Promise<unknown> = Promise.resolve();
  /** The checks that are to come, by org; `null` for all orgs. */
  readonly #checks = new Map<OrgId | null, NodeJS.Timeout>();
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
    for (const watches of this.#watches.values()) for (const watch of [...watches]) watch.close();
    await Promise.all([this.#stopping, ...[this.#main, ...this.#others].map((notifications) => notifications.stop())]);
  }

  /** @param after the last seq that the reader has seen */
  watch(orgId: OrgId, after: Seq): HeadWatch {
    const watches = this.#watches.get(orgId) ?? new Set<HeadWatch>();
    this.#watches.set(orgId, watches);
    const watch: HeadWatch = new HeadWatch(after, watches, () => {
      watches.delete(watch);
      if (watches.size === 0 && this.#watches.get(orgId) === watches) this.#watches.delete(orgId);
    });
    if (!this.#isClosing) watches.add(watch);
    return watch;
  }

  moved(orgId: OrgId, seq: Seq): void {
    for (const watch of this.#watches.get(orgId) ?? []) watch.notify(seq);
  }

  wakeAll(): void {
    for (const watches of this.#watches.values()) for (const watch of watches) watch.notify(null);
  }

  /** Lets readers check their credentials once those that ended are no longer held. Many notifications are one check. */
  #checkSoon(orgId: OrgId | null): void {
    if (this.#isClosing || this.#checks.has(orgId)) return;
    const check = () => {
      this.#checks.delete(orgId);
      const all = orgId === null ? [...this.#watches.values()] : [this.#watches.get(orgId) ?? []];
      for (const watches of all) for (const watch of watches) watch.check();
    };
    this.#checks.set(orgId, setTimeout(check, CREDENTIALS_FORGOTTEN_MS).unref());
  }
}
