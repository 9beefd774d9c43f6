import { Inject, Injectable } from '@nestjs/common';
import { awayReason, PostgresProbe, Store } from '#libs/postgres';
import { HealthBoard, type Config, type Logger } from '#libs/runtime';
import { RegularWork } from './regular-work.js';
import { CONFIG, LOGGER } from './tokens.js';

const LOOK_EVERY_MS = 5_000;

/** Reports in health and log when Postgres goes away, also while nothing else asks it anything. */
@Injectable()
export class PostgresWatch extends RegularWork {
  readonly #probe: PostgresProbe;
  #isAway = false;

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
    await this.#probe.ask();
    if (!this.#isAway) return;
    this.#isAway = false;
    this.health.ready('postgres');
    this.logger.info({}, 'postgres.back');
  }

  protected failed(error: unknown): void {
    const reason = awayReason(error);
    this.health.waiting('postgres', reason);
    if (!this.#isAway) this.logger.warn({ reason }, 'postgres.away');
    this.#isAway = true;
  }
}
