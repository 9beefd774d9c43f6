import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { AlertOutbox, ChatQueueProjection, earlierClock, Store } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER, RegularWork } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';
import { LONGEST_WAIT_MS } from './mail/mail-rounds.js';

const PRUNE_EVERY_MS = 600_000;
const BATCH = 1_000;

/** Deletes alerts and waiting chats that are older than the events of the feed. */
@Injectable()
export class PruneLiveChats extends RegularWork {
  constructor(
    private readonly store: Store,
    private readonly outbox: AlertOutbox,
    private readonly queues: ChatQueueProjection,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: PRUNE_EVERY_MS });
  }

  protected async act(signal: AbortSignal): Promise<undefined> {
    const now = new Date(await earlierClock(this.store, this.clock.now()));
    const before = new Date(now.getTime() - this.config.retentionMs);
    // Their mails are given up by then.
    const alertsBefore = new Date(now.getTime() - Math.max(this.config.retentionMs, LONGEST_WAIT_MS));
    while (!signal.aborted && (await this.outbox.prune(alertsBefore, BATCH)) === BATCH);
    while (!signal.aborted && (await this.queues.prune(before, now, BATCH)) === BATCH);
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'alerting.pruning_waits');
  }
}
