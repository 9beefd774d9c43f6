import type { FeedServer } from '#libs/postgres';

const OPEN_AGAIN_AFTER_MS = 2_000;

/** A list whose databases are being opened. */
interface Opening {
  readonly id: string;
  servers: readonly FeedServer[];
  isUnderWay: boolean;
  isOpen: boolean;
  /** Whether nothing uses it any more. Its databases are then closed once they are no longer being opened. */
  isLeft: boolean;
  triedAtMs: number;
}

export interface NextFeedListDependencies {
  /** Returns the databases of the list, not yet open; `undefined` if it is no list any more. */
  readonly serversOf: (id: string) => Promise<readonly FeedServer[] | undefined>;
  /** Whether it is the main database, which stays open. */
  readonly isMain: (server: FeedServer) => boolean;
  readonly onFailure: (error: unknown) => void;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/** Opens the databases of the list that the feed is about to move to. */
export class NextFeedList {
  #opening: Opening | null = null;

  constructor(private readonly use: NextFeedListDependencies) {}

  isOpen(id: string): boolean {
    return this.#opening?.id === id && this.#opening.isOpen;
  }

  /** Begins to open the databases of the list, and closes those of another one. @param id `null`: no list is announced */
  async prepare(id: string | null): Promise<void> {
    if (this.#opening?.id !== id) await this.leave();
    if (id === null) return;
    const opening = (this.#opening ??= {
      id,
      servers: [],
      isUnderWay: false,
      isOpen: false,
      isLeft: false,
      triedAtMs: -Infinity,
    });
    const { isUnderWay, isOpen, triedAtMs } = opening;
    if (isUnderWay || isOpen || this.use.nowMs() - triedAtMs < OPEN_AGAIN_AFTER_MS) return;
    // Not awaited: opening takes longer than a look holds.
    void this.#open(opening).catch(this.use.onFailure);
  }

  /** Hands over the databases of the list, which the caller closes; `undefined` unless all of them are open. */
  take(id: string): readonly FeedServer[] | undefined {
    if (!this.isOpen(id)) return undefined;
    const servers = this.#opening?.servers;
    this.#opening = null;
    return servers;
  }

  /** Closes the databases. Those that are still being opened are closed afterwards. */
  async leave(): Promise<void> {
    const opening = this.#opening;
    this.#opening = null;
    if (opening === null) return;
    opening.isLeft = true;
    if (!opening.isUnderWay) await this.#close(opening);
  }

  async #open(opening: Opening): Promise<void> {
    opening.isUnderWay = true;
    opening.triedAtMs = this.use.nowMs();
    try {
      if (opening.servers.length === 0) opening.servers = (await this.use.serversOf(opening.id)) ?? [];
      if (opening.isLeft || opening.servers.length === 0) return;
      const others = opening.servers.filter((server) => !this.use.isMain(server));
      // All are awaited, so that none is opened twice at once.
      const opened = await Promise.allSettled(others.map(({ store }) => store.openNow()));
      for (const { reason } of opened.filter((one) => one.status === 'rejected')) throw reason;
      opening.isOpen = true;
    } finally {
      opening.isUnderWay = false;
      if (opening.isLeft) await this.#close(opening);
    }
  }

  async #close({ servers }: Opening): Promise<void> {
    const others = servers.filter((server) => !this.use.isMain(server));
    await Promise.all(others.map(({ store }) => store.close().catch(() => undefined)));
  }
}
