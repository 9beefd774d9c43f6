import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { ApiKeyRecords, AuditLog, earlierClock, Store } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER, RegularWork } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';

const EVERY_MS = 60 * 1_000;
/** The most rows that one statement deletes, so that none holds locks for long. */
const BATCH = 5_000;

/** Deletes entries that are older than `AUDIT_RETENTION`, and keys that ended before. Every process may do so. */
@Injectable()
export class AuditPruner extends RegularWork {
  constructor(
    private readonly store: Store,
    private readonly audit: AuditLog,
    private readonly keys: ApiKeyRecords,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: EVERY_MS });
  }

  protected async act(signal: AbortSignal): Promise<undefined> {
    const nowMs = await earlierClock(this.store, this.clock.now());
    const before = new Date(nowMs - this.config.auditRetentionMs);
    const pruned = await pruneAll(() => this.audit.prune(before, BATCH), signal);
    if (pruned > 0) this.logger.info({ pruned }, 'audit.pruned');
    // After the entries: those of an organization's key show its address as long as the key is there.
    const prunedKeys = await pruneAll(() => this.keys.prune(before, BATCH), signal);
    if (prunedKeys > 0) this.logger.info({ pruned: prunedKeys }, 'api_keys.pruned');
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'audit.not_pruned');
  }
}

/** @returns how many rows were deleted */
async function pruneAll(prune: () => Promise<number>, signal: AbortSignal): Promise<number> {
  let all = 0;
  while (!signal.aborted) {
    const pruned = await prune();
    all += pruned;
    if (pruned < BATCH) break;
  }
  return all;
}
