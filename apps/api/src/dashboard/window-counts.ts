import { Injectable } from '@nestjs/common';
import type { EndpointId, OrgId } from '#libs/domain';
import {
  DashboardFigures,
  type AttemptCounts,
  type AttemptTotals,
  type Buckets,
  type Outcomes,
  type TimeRange,
} from '#libs/postgres';
import { ShortMemory } from './short-memory.js';

/** Deliveries older than this have mostly ended and been projected. */
const SETTLED_AFTER_MS = 60_000;
/** The end of the settled part moves in steps of this, so that the settled part is rarely counted again. */
const STEP_MS = 5 * 60_000;
/** Settled counts are remembered only this long, because retries and replays change them, too. */
const SETTLED_REMEMBERED_MS = 60_000;

/**
 * Counts over long windows. Most of a window is settled and is counted once a minute. Only the last minutes are counted
 * on each call.
 */
@Injectable()
export class WindowCounts {
  constructor(
    private readonly figures: DashboardFigures,
    private readonly memory: ShortMemory,
  ) {}

  /**
   * Counts attempts of the org's endpoints, or of one. A bucket may come twice, each time with some of its attempts.
   */
  async attempts(
    orgId: OrgId,
    buckets: Buckets,
    nowMs: number,
    endpointId?: EndpointId,
  ): Promise<readonly AttemptCounts[]> {
    const name = `attempts ${endpointId ?? ''} ${buckets.sizeMs}`;
    const parts = await this.#count(orgId, name, buckets.startMs, nowMs, (range) =>
      this.figures.attemptCounts(orgId, buckets, range, endpointId),
    );
    return parts.flat();
  }

  /** Counts attempts of all endpoints together. A bucket may come twice, too. */
  async attemptTotals(orgId: OrgId, buckets: Buckets, nowMs: number): Promise<readonly AttemptTotals[]> {
    const name = `attempts of all ${buckets.sizeMs}`;
    const parts = await this.#count(orgId, name, buckets.startMs, nowMs, (range) =>
      this.figures.attemptTotals(orgId, buckets, range),
    );
    return parts.flat();
  }

  /** Counts the outcomes of deliveries whose events were appended since `sinceMs`. */
  async outcomes(orgId: OrgId, sinceMs: number, nowMs: number): Promise<Outcomes> {
    const parts = await this.#count(orgId, 'outcomes', sinceMs, nowMs, (range) => this.figures.outcomes(orgId, range));
    return {
      delivered: parts.reduce((sum, { delivered }) => sum + delivered, 0),
      failed: parts.reduce((sum, { failed }) => sum + failed, 0),
      pending: parts.reduce((sum, { pending }) => sum + pending, 0),
    };
  }

  async #count<T>(
    orgId: OrgId,
    name: string,
    fromMs: number,
    nowMs: number,
    count: (range: TimeRange) => Promise<T>,
  ): Promise<readonly T[]> {
    const settledMs = Math.floor((nowMs - SETTLED_AFTER_MS) / STEP_MS) * STEP_MS;
    if (settledMs <= fromMs) return [await count({ fromMs, untilMs: null })];
    const settled = this.memory.ask(
      orgId,
      `${name} ${fromMs} ${settledMs}`,
      () => count({ fromMs, untilMs: settledMs }),
      SETTLED_REMEMBERED_MS,
    );
    return Promise.all([settled, count({ fromMs: settledMs, untilMs: null })]);
  }
}
