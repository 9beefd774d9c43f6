import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { AuditLog } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER } from '#libs/platform';
import { Regularly, type Config, type Logger } from '#libs/runtime';

const INTERVAL_MS = 60 * 1_000;

/** Deletes entries that are older than `AUDIT_RETENTION`; that every process does so does no harm. */
@Injectable()
export class AuditPruner implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #pruning: Regularly;

  constructor(
    audit: AuditLog,
    @Inject(CONFIG) config: Config,
    @Inject(CLOCK) clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#pruning = new Regularly({
      everyMs: INTERVAL_MS,
      act: async () => {
        const pruned = await audit.prune(new Date(clock.now() - config.auditRetentionMs));
        if (pruned > 0) logger.info({ pruned }, 'audit.pruned');
        return undefined;
      },
      onFailure: (error) => {
        logger.warn({ err: error }, 'audit.not_pruned');
      },
    });
  }

  onApplicationBootstrap(): void {
    this.#pruning.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#pruning.stop();
  }
}
