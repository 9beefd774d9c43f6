import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { expiredBefore, FeedAudit, type FeedEvent, type LoggedEvent } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER, RegularWork } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';

const COMPARE_EVERY_MS = 10_000;
/** Of each batch one record is taken; hashing them costs next to nothing. */
const SAMPLE = 256;

/**
 * Looks at the tail of the log while it is projected: whether the feed shows a sample as the log has it, byte for byte.
 * It only counts and reports; `verify` looks at everything, and that each org's seq follows is seen by the projection.
 */
@Injectable()
export class TailCheck extends RegularWork {
  #sample: LoggedEvent[] = [];
  #mismatches = 0;

  constructor(
    private readonly feed: FeedAudit,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: COMPARE_EVERY_MS });
  }

  /** Events of the sample, since this process began, that the feed shows otherwise than the log. Should stay 0. */
  get mismatches(): number {
    return this.#mismatches;
  }

  /** @param events of one partition, which the feed shows from now on; repeats, which it never does, are left out */
  add(events: readonly FeedEvent[]): void {
    const latest = events.at(-1);
    if (latest === undefined || this.#sample.length >= SAMPLE) return;
    const { envelope, ...event } = latest;
    this.#sample.push({ ...event, sha256: hash('sha256', envelope, 'buffer') });
  }

  protected async act(): Promise<undefined> {
    await this.compareSample();
  }

  protected failed(): void {
    // A comparison logs its own failures.
  }

  /** Compares what was sampled since the last time; what cannot be asked now is asked the next time. */
  async compareSample(): Promise<void> {
    const expiredMs = expiredBefore(this.clock.now(), this.config.retentionMs);
    const sample = this.#sample;
    const kept = sample.filter(({ appendedAtMs }) => appendedAtMs >= expiredMs);
    this.#sample = [];
    if (kept.length === 0) return;
    try {
      for (const { event, columns } of await this.feed.mismatches(kept)) {
        this.#mismatches++;
        this.logger.error({ org_id: event.orgId, seq: event.seq, columns }, 'projector.mismatch');
      }
    } catch (error) {
      this.#sample = [...kept, ...this.#sample].slice(0, SAMPLE);
      this.logger.debug({ err: error }, 'projector.tail_check_waits');
    }
  }
}
