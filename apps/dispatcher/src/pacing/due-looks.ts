import type { EndpointId } from '#libs/domain';
import { isPostgresAway, isQueryTimeout, type OverdueAttempt } from '#libs/postgres';
import type { Logger } from '#libs/runtime';
import type { PacedShare } from './paced-share.js';

/** How often to look for attempts of an endpoint that had none. */
export const LOOK_EVERY_MS = 200;
/** After a look that may read much, an endpoint without attempts or without room rests for this many times its duration … */
const REST_AFTER_LONG_LOOK = 20;
/** … but no longer than this. */
const LONGEST_REST_MS = 5_000;
/** Looks at the same time. They must leave connections to others. */
const LOOKS_AT_ONCE = 4;
/** If looks at one endpoint fail and others succeed, its next one comes after this many times the duration … */
const PAUSE_AFTER_FAILED_LOOK = 20;
/** … but no later than this. */
const LONGEST_PAUSE_MS = 60_000;

/** Endpoints whose attempts are looked for together. */
export interface Look {
  /** How many of each endpoint are read at most. */
  readonly most: number;
  readonly shares: Map<EndpointId, PacedShare>;
}

interface Read {
  readonly share: PacedShare;
  /** How long its look took. */
  readonly tookMs: number;
}

export interface Looked {
  /** The endpoints that were read. */
  readonly read: ReadonlyMap<EndpointId, Read>;
  readonly due: readonly OverdueAttempt[];
}

interface FailedLook {
  readonly shares: readonly PacedShare[];
  readonly sinceMs: number;
  readonly tookMs: number;
  readonly reason: unknown;
}

export type FindDue = (
  ids: readonly EndpointId[],
  before: Date,
  perEndpoint: number,
) => Promise<readonly OverdueAttempt[]>;

export interface DueLooksDependencies {
  readonly isOrdered: (id: EndpointId) => boolean;
  /** The clock of the delivery log. */
  readonly clockMs: () => number;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/** Looks for attempts of paced endpoints, and decides how soon again. One endpoint can make a look fail or take long. */
export class DueLooks {
  /** When a look succeeded last. */
  #lookedAtMs = -Infinity;
  /** How many parts failed looks were divided into. */
  #parts = 0;

  constructor(private readonly use: DueLooksDependencies) {}

  /** Looks for attempts, a few looks at the same time. One that fails does not stop the others. */
  async look(looks: readonly Look[], find: FindDue): Promise<Looked> {
    const { clockMs, nowMs, logger } = this.use;
    const before = new Date(clockMs());
    const read = new Map<EndpointId, Read>();
    const due: OverdueAttempt[] = [];
    const failed: FailedLook[] = [];
    const waiting = [...looks];
    const lookOneByOne = async () => {
      for (let look = waiting.shift(); look !== undefined; look = waiting.shift()) {
        const { shares, most } = look;
        const sinceMs = nowMs();
        try {
          due.push(...(await find([...shares.keys()], before, most)));
          this.#lookedAtMs = nowMs();
          for (const [id, share] of shares) read.set(id, { share, tookMs: this.#lookedAtMs - sinceMs });
        } catch (reason) {
          failed.push({ shares: [...shares.values()], sinceMs, tookMs: nowMs() - sinceMs, reason });
        }
      }
    };
    await Promise.all(Array.from({ length: LOOKS_AT_ONCE }, lookOneByOne));
    for (const one of failed) this.#suspect(one);
    const [first] = failed;
    if (first === undefined) return { read, due };
    if (read.size === 0) throw first.reason as Error;
    logger.warn({ err: first.reason }, 'dispatcher.pace_waits');
    return { read, due };
  }

  /**
   * Halves the endpoints of a failed look. So one at which looks fail is found within a few rounds, and few looks fail
   * with it. It rests then.
   */
  #suspect({ shares, sinceMs, tookMs, reason }: FailedLook): void {
    // Without a connection, the look says nothing about the endpoints.
    if (isPostgresAway(reason) && !isQueryTimeout(reason)) return;
    const nowMs = this.use.nowMs();
    const [first] = shares;
    if (shares.length === 1 && first !== undefined && first.part !== 0) {
      const pauseMs = Math.min(tookMs * PAUSE_AFTER_FAILED_LOOK, LONGEST_PAUSE_MS);
      // If no other look succeeded meanwhile, it may be Postgres.
      const mayBePostgres = this.#lookedAtMs < sinceMs;
      const againAtMs = mayBePostgres ? this.againAtMs({ share: first, tookMs }, sinceMs) : nowMs + pauseMs;
      first.lookAtMs = Math.max(first.lookAtMs, againAtMs);
      return;
    }
    const middle = Math.ceil(shares.length / 2);
    for (const half of [shares.slice(0, middle), shares.slice(middle)]) {
      this.#parts++;
      for (const share of half) [share.part, share.lookAtMs] = [this.#parts, nowMs];
    }
  }

  /**
   * Returns when to look again at an endpoint that has no attempt, or no room for one.
   * @param sinceMs when the last look began
   */
  againAtMs({ share, tookMs }: Read, sinceMs: number): number {
    // Ordered endpoints have few deliveries out of order, which are looked for among all that are due.
    const readsMuch = share.isFull || this.use.isOrdered(share.limits.id);
    const restMs = Math.min(LONGEST_REST_MS, Math.max(LOOK_EVERY_MS, tookMs * REST_AFTER_LONG_LOOK));
    return readsMuch ? this.use.nowMs() + restMs : sinceMs + LOOK_EVERY_MS;
  }
}
