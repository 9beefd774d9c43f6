import { Injectable } from '@nestjs/common';
import { EndpointCounts } from '#libs/postgres';
import { Metrics } from '#libs/telemetry';

/** A count reads the whole table, which changes slowly. */
const COUNT_EVERY_MS = 30_000;

/** Reports how many endpoints there are and how many of them are disabled. */
@Injectable()
export class MeasureEndpoints {
  #countedAtMs = -Infinity;

  constructor(
    private readonly counts: EndpointCounts,
    private readonly metrics: Metrics,
  ) {
    metrics.beforeScrape(() => this.#count());
  }

  async #count(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#countedAtMs < COUNT_EVERY_MS) return;
    for (const [state, count] of Object.entries(await this.counts.read())) {
      this.metrics.set('gapless_endpoints', { state }, count);
    }
    this.#countedAtMs = nowMs;
  }
}
