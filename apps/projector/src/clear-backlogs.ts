import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Backlogs, Store } from '#libs/feed-store';
import { Metrics } from '#libs/metrics';
import { LOGGER } from '#libs/platform';
import type { Logger } from '#libs/runtime';

const LOOK_EVERY_MS = 5_000;
/** After a chunk it rests for as long as the chunk took, so that Postgres is at most half busy with backlogs. */
const LEAST_REST_MS = 10;

/** Clears the backlogs of endpoints that were disabled or deleted, beside the projections and never in their way. */
@Injectable()
export class ClearBacklogs implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #backlogs: Backlogs;
  readonly #ending = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | null = null;

  constructor(
    private readonly store: Store,
    private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#backlogs = new Backlogs(store);
    for (const kind of ['settle', 'remove'] as const) {
      metrics.add('gapless_backlog_rows_total', { kind }, 0);
      metrics.set('gapless_backlog_endpoints', { kind }, 0);
    }
  }

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => {
      this.#round ??= this.#attempt().finally(() => {
        this.#round = null;
      });
    }, LOOK_EVERY_MS);
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    this.#ending.abort();
    await this.#round;
  }

  async #attempt(): Promise<void> {
    try {
      if (this.store.isOpen && (await this.#measure())) await this.#backlogs.alone(() => this.#clear());
    } catch (error) {
      this.logger.warn({ err: error }, 'projector.backlogs_wait');
    }
  }

  /** @returns whether anything waits */
  async #measure(): Promise<boolean> {
    const waiting = await this.#backlogs.waiting();
    this.metrics.set('gapless_backlog_endpoints', { kind: 'settle' }, waiting.settle);
    this.metrics.set('gapless_backlog_endpoints', { kind: 'remove' }, waiting.remove);
    return waiting.settle + waiting.remove > 0;
  }

  /** Until nothing is left that can be done now: rows that another transaction holds are left to the next round. */
  async #clear(): Promise<void> {
    for (let isWorking = true; isWorking;) {
      isWorking = false;
      let startedAtMs = performance.now();
      for await (const { kind, endpointId, rows, isDone } of this.#backlogs.chunks()) {
        if (this.#ending.signal.aborted) return;
        this.metrics.add('gapless_backlog_rows_total', { kind }, rows);
        if (isDone) this.logger.info({ kind, endpoint_id: endpointId }, 'projector.backlog_cleared');
        isWorking ||= rows > 0;
        await delay(Math.max(LEAST_REST_MS, performance.now() - startedAtMs));
        startedAtMs = performance.now();
      }
      await this.#measure();
    }
  }
}
