import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { Backlogs } from '#libs/postgres';
import { Metrics } from '#libs/telemetry';
import { LOGGER, RegularWork } from '#libs/platform';
import type { Logger } from '#libs/runtime';

const LOOK_EVERY_MS = 5_000;
/**
 * The shortest rest after a chunk. A rest lasts as long as its chunk took, so backlogs keep Postgres at most half busy.
 */
const LEAST_REST_MS = 10;

/** Clears the backlogs of disabled and deleted endpoints, without blocking the projections. */
@Injectable()
export class ClearBacklogs extends RegularWork {
  constructor(
    private readonly backlogs: Backlogs,
    private readonly metrics: Metrics,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: LOOK_EVERY_MS });
    for (const kind of ['settle', 'remove'] as const) {
      metrics.add('gapless_backlog_rows_total', { kind }, 0);
      metrics.set('gapless_backlog_endpoints', { kind }, 0);
    }
  }

  protected async act(signal: AbortSignal): Promise<undefined> {
    if (await this.#measure()) await this.backlogs.alone((lost) => this.#clear([signal, lost]));
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'projector.backlogs_wait');
  }

  /** Reports the backlogs. @returns whether there are any */
  async #measure(): Promise<boolean> {
    const waiting = await this.backlogs.waiting();
    this.metrics.set('gapless_backlog_endpoints', { kind: 'settle' }, waiting.settle);
    this.metrics.set('gapless_backlog_endpoints', { kind: 'remove' }, waiting.remove);
    return waiting.settle + waiting.remove > 0;
  }

  /** Clears until nothing more can be done now. Rows that another transaction has locked are left to the next round. */
  async #clear(signals: readonly AbortSignal[]): Promise<void> {
    for (let isWorking = true; isWorking;) {
      isWorking = false;
      let startedAtMs = performance.now();
      for await (const { kind, endpointId, rows, isDone } of this.backlogs.chunks()) {
        if (signals.some(({ aborted }) => aborted)) return;
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
