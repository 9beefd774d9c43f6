import { Inject, Injectable } from '@nestjs/common';
import { InstallationMismatchError } from '#libs/domain';
import { awayReason, PostgresProbe, PROJECTION_TABLE_NAMES, Store, TAKES_NO_WRITES } from '#libs/postgres';
import { HealthBoard, type Config, type Logger } from '#libs/runtime';
import { RegularWork } from './regular-work.js';
import { CONFIG, LOGGER } from './tokens.js';

const LOOK_EVERY_MS = 5_000;

/** Reports in health and log when Postgres goes away, also while nothing else asks it anything. */
@Injectable()
export class PostgresWatch extends RegularWork {
  readonly #probe: PostgresProbe;
  #reported: string | null = null;

  constructor(
    @Inject(CONFIG) { databaseUrl }: Config,
    @Inject(LOGGER) private readonly logger: Logger,
    private readonly store: Store,
    private readonly health: HealthBoard,
  ) {
    super({ everyMs: LOOK_EVERY_MS });
    this.#probe = new PostgresProbe({ databaseUrl, applicationName: 'gapless' });
  }

  override async beforeApplicationShutdown(): Promise<void> {
    await super.beforeApplicationShutdown();
    this.#probe.close();
  }

  protected async act(): Promise<undefined> {
    // `Platform` reports what it waits for until then.
    if (!this.store.isOpen) return;
    const found = await this.#probe.ask(PROJECTION_TABLE_NAMES);
    const id = found?.id ?? null;
    // While Kafka is away, the process has not joined its installation.
    if (id !== null && this.store.installation === null) this.store.belongsTo(id);
    const { installation } = this.store;
    if (id !== installation) {
      throw new InstallationMismatchError(
        `The database belongs to ${id === null ? 'no installation' : `installation ${id}`} now, and not to ` +
          `${installation ?? ''}: another one is in its place. Put the right one back, or set DATABASE_URL.`,
      );
    }
    if (found?.is_read_only === true) {
      // Reads go on, and so does the ingest of events.
      this.health.degraded('postgres', TAKES_NO_WRITES);
      this.#report(TAKES_NO_WRITES);
      return;
    }
    if (this.#reported === null) return;
    this.#reported = null;
    this.health.ready('postgres');
    this.logger.info({}, 'postgres.back');
  }

  protected failed(error: unknown): void {
    const reason = awayReason(error);
    this.health.waiting('postgres', reason);
    this.#report(reason);
  }

  #report(reason: string): void {
    if (this.#reported !== reason) this.logger.warn({ reason }, 'postgres.away');
    this.#reported = reason;
  }
}
