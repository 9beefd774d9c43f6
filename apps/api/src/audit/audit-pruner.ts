import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { AuditLog } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER, RegularWork } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';

const EVERY_MS = 60 * 1_000;

/** Deletes entries that are older than `AUDIT_RETENTION`. Every process may do so. */
@Injectable()
export class AuditPruner extends RegularWork {
  constructor(
    private readonly audit: AuditLog,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: EVERY_MS });
  }

  protected async act(): Promise<undefined> {
    const pruned = await this.audit.prune(new Date(this.clock.now() - this.config.auditRetentionMs));
    if (pruned > 0) this.logger.info({ pruned }, 'audit.pruned');
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'audit.not_pruned');
  }
}
