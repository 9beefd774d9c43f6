import { hash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { expiredBefore, FeedAudit, type FeedEvent, type LoggedEvent } from '#libs/postgres';
import { CLOCK, CONFIG, LOGGER, RegularWork } from '#libs/platform';
import type { Config, Logger } from '#libs/runtime';

const COMPARE_EVERY_MS = 10_000;
/** The most events in a sample, which takes one from each batch. Hashing them costs little. */
const SAMPLE = 256;

/**
 * Compares a sample of new log events with the feed, byte for byte. It only counts and reports. `verify` compares
 * everything, and the projection checks that each org's seqs are consecutive.
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

  /** Sampled events, since this process began, that differ between feed and log. Should stay 0. */
  get mismatches(): number {
    return this.#mismatches;
  }

  /** @param events of one partition, just added to the feed, without repeats */
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

  /** Compares the sample since the last call. If the feed cannot be read, the next call compares it. */
  async compareSample(): Promise<void> {
    const expiredMs = expiredBefore(this.clock.now(), this.config.retentionMs);
    const sample = this.#sample;
    const kept = sample.filter(({ appendedAtMs }) => appendedAtMs >= expiredMs);
    this.#sample = [];
    for (const some of this.feed.groups(kept)) await this.#compare(some);
  }

  async #compare(some: readonly LoggedEvent[]): Promise<void> {
    try {
      const found = (await this.feed.mismatches(some)).map(({ event }) => event);
      // Those are compared when they are projected again. The rest may have been projected again meanwhile.
      const beyond = await this.feed.beyondHead(found);
      const rest = found.filter((event) => !beyond.has(event));
      for (const { event, columns } of rest.length === 0 ? [] : await this.feed.mismatches(rest)) {
        this.#mismatches++;
        this.logger.error({ org_id: event.orgId, seq: event.seq, columns }, 'projector.mismatch');
      }
    } catch (error) {
      this.#sample = [...some, ...this.#sample].slice(0, SAMPLE);
      this.logger.debug({ err: error }, 'projector.tail_check_waits');
    }
  }
}
