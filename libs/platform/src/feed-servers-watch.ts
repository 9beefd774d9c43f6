import { Inject, Injectable } from '@nestjs/common';
import { OperatorError } from '#libs/domain';
import {
  awayReason,
  FEED_TABLE_NAMES,
  FeedPlaces,
  isPassingInAMoment,
  MigrationUnderWayError,
  PostgresProbe,
  Store,
  TAKES_NO_WRITES,
  type FeedServer,
} from '#libs/postgres';
import { HealthBoard, untilItWorks, type Logger } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { FeedListWatch } from './feed-list-watch.js';
import { RegularWork } from './regular-work.js';
import { LOGGER } from './tokens.js';

const LOOK_EVERY_MS = 2_000;

/**
 * Opens the databases that share the feed, and reports those that are away. Only the organizations of such a database
 * wait for it: the process starts and stays ready without it.
 */
@Injectable()
export class FeedServersWatch extends RegularWork {
  readonly #probes = new Map<FeedServer, PostgresProbe>();
  readonly #reported = new Map<FeedServer, string>();
  #hasJoined = false;

  constructor(
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly store: Store,
    private readonly places: FeedPlaces,
    private readonly list: FeedListWatch,
    private readonly health: HealthBoard,
    private readonly metrics: Metrics,
  ) {
    super({ everyMs: LOOK_EVERY_MS });
    this.#watch();
    store.feed.onChange(() => {
      this.#leave();
      this.#watch();
      this.expect();
      // Those that are open already are shown as they are, at once.
      void this.act();
    });
  }

  #watch(): void {
    for (const server of this.store.feed.others) {
      const { databaseUrl } = server.store;
      this.#probes.set(server, new PostgresProbe({ databaseUrl, applicationName: 'gapless' }));
    }
  }

  /** Forgets databases that the feed has left. */
  #leave(): void {
    for (const [server, probe] of this.#probes) {
      probe.close();
      this.health.forget(partOf(server));
      this.metrics.remove('gapless_feed_server_up', { server: server.name });
    }
    this.#probes.clear();
    this.#reported.clear();
  }

  /** Shows the databases as parts that the process waits for, until `join` has tried each of them. */
  expect(): void {
    for (const server of this.#probes.keys()) {
      if (this.store.feed.hasJoined(server)) this.health.ready(partOf(server));
      else this.health.waiting(partOf(server), 'connecting');
    }
  }

  /**
   * Opens the databases that can be reached, and reports the others. It waits for one that another process migrates.
   * @param mayBegin whether new databases take their places now; otherwise the process still waits for them
   * @throws InstallationMismatchError, or the signal's reason
   */
  async join(mayBegin: boolean, signal: AbortSignal): Promise<void> {
    if (this.#hasJoined) return;
    await this.#checkMain();
    const tried = await Promise.all([...this.#probes.keys()].map((server) => this.#join(server, mayBegin, signal)));
    this.#hasJoined = tried.every(Boolean);
  }

  /** The feed may move between both looks. */
  async #checkMain(): Promise<void> {
    await this.list.adopt();
    try {
      await this.places.checkMain();
    } catch (error) {
      const { listId } = this.store.feed;
      await this.list.adopt();
      if (listId === this.store.feed.listId) throw error;
      await this.places.checkMain();
    }
  }

  /** @returns whether it was tried */
  async #join(server: FeedServer, mayBegin: boolean, signal: AbortSignal): Promise<boolean> {
    try {
      if (!(await this.#joinMigrated(server, mayBegin, signal))) return false;
      this.#isBack(server);
    } catch (error) {
      signal.throwIfAborted();
      // The feed has moved to other databases meanwhile, which the watch joins.
      if (!this.#probes.has(server)) return true;
      if (error instanceof OperatorError && !isPassingInAMoment(error)) throw error;
      this.#isAway(server, awayReason(error));
    }
    return true;
  }

  /** A migration may take hours, and says that the database is there: no alert, and no process that is ready too early. */
  #joinMigrated(server: FeedServer, mayBegin: boolean, signal: AbortSignal): Promise<boolean> {
    return untilItWorks(() => this.places.join(server, mayBegin), {
      onFailure: (error, failures, waitMs) => {
        if (!(error instanceof MigrationUnderWayError) || !this.#probes.has(server)) throw error;
        const { message: reason } = error;
        this.health.waiting(partOf(server), reason);
        this.logger.warn({ server: server.name, reason, failures, wait_ms: waitMs }, 'feed_server.waiting');
      },
      signal,
    });
  }

  override async beforeApplicationShutdown(): Promise<void> {
    await super.beforeApplicationShutdown();
    for (const probe of this.#probes.values()) probe.close();
  }

  /** Looks at each database by itself: one that does not answer delays no other. */
  protected async act(): Promise<undefined> {
    if (!this.#hasJoined) return;
    await Promise.all([...this.#probes].map(([server, probe]) => this.#look(server, probe)));
  }

  protected failed(error: unknown): void {
    this.logger.error({ err: error }, 'feed_server.watch_failed');
  }

  async #look(server: FeedServer, probe: PostgresProbe): Promise<void> {
    try {
      if (!this.store.feed.hasJoined(server)) {
        await this.places.join(server);
        this.#isBack(server);
        return;
      }
      const found = await probe.ask(FEED_TABLE_NAMES);
      await this.places.checkJoined(server, found);
      if (found?.is_read_only === true) this.#isReadOnly(server);
      else this.#isBack(server);
    } catch (error) {
      // A database that was away may turn out to be the wrong one.
      this.#isAway(server, error instanceof OperatorError ? error.message : awayReason(error));
    }
  }

  #isBack(server: FeedServer): void {
    if (!this.#probes.has(server)) return;
    this.store.feed.back(server);
    this.health.ready(partOf(server));
    this.metrics.set('gapless_feed_server_up', { server: server.name }, 1);
    if (this.#reported.delete(server)) this.logger.info({ server: server.name }, 'feed_server.back');
  }

  /** Its events can be read, and no others come. */
  #isReadOnly(server: FeedServer): void {
    if (!this.#probes.has(server)) return;
    this.store.feed.back(server);
    this.#report(server, TAKES_NO_WRITES);
  }

  #isAway(server: FeedServer, reason: string): void {
    // The feed has moved to other databases meanwhile.
    if (!this.#probes.has(server)) return;
    this.store.feed.away(server, reason);
    this.#report(server, reason);
  }

  #report(server: FeedServer, reason: string): void {
    this.health.degraded(partOf(server), reason);
    this.metrics.set('gapless_feed_server_up', { server: server.name }, 0);
    if (this.#reported.get(server) === reason) return;
    this.#reported.set(server, reason);
    this.logger.error({ server: server.name, reason }, 'feed_server.away');
  }
}

function partOf({ name }: FeedServer): string {
  return `feed database ${name}`;
}
