import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { ApiKeyRecords, AuditLog } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER, RegularWork } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';

const EVERY_MS = 60 * 1_000;

/** Deletes entries that are older than `AUDIT_RETENTION`, and keys that ended before. Every process may do so. */
@Injectable()
export class AuditPruner extends RegularWork {
  constructor(
    private readonly audit: AuditLog,
    private readonly keys: ApiKeyRecords,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: EVERY_MS });
  }

  protected async act(): Promise<undefined> {
    const before = new Date(this.clock.now() - this.config.auditRetentionMs);
    const pruned = await this.audit.prune(before);
    if (pruned > 0) this.logger.info({ pruned }, 'audit.pruned');
    // After the entries: those of an organization's key show its address as long as the key is there.
    const prunedKeys = await this.keys.prune(before);
    if (prunedKeys > 0) this.logger.info({ pruned: prunedKeys }, 'api_keys.pruned');
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'audit.not_pruned');
  }
}
