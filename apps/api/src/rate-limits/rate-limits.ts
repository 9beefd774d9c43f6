import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { GaplessError, type ApiKeyId } from '#libs/domain';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';

/** What is counted. */
export type Countable = 'requests' | 'events';

/**
 * A key may use in two seconds what it may use in two: on average the configured rate, and at most twice that at once
 * (decisions, section 11: RATE_LIMIT).
 */
const WINDOW_SECONDS = 2;
/** Events per request: ingest takes many in one. */
const EVENTS_PER_REQUEST = 20;

/** One quota of each key. */
class Quota {
  readonly #limiter: RateLimiterMemory;
  /** The quota as `RateLimit-Policy` tells it (draft-ietf-httpapi-ratelimit-headers). */
  readonly policy: string;

  constructor(
    readonly name: Countable,
    readonly amount: number,
  ) {
    this.#limiter = new RateLimiterMemory({ points: amount, duration: WINDOW_SECONDS });
    this.policy = `"${name}";q=${amount};w=${WINDOW_SECONDS}`;
  }

  async use(key: ApiKeyId, cost: number): Promise<{ readonly remaining: number; readonly resetSeconds: number }> {
    // What costs more than there can be is let through when nothing else is: it could never be otherwise.
    const used = await this.#limiter.penalty(key, Math.min(cost, this.amount));
    return { remaining: this.amount - used.consumedPoints, resetSeconds: Math.ceil(used.msBeforeNext / 1_000) };
  }
}

/** How often each API key may ask, counted in this process. */
@Injectable()
export class RateLimits {
  readonly #quotas: Readonly<Record<Countable, Quota>>;

  constructor(@Inject(CONFIG) config: Config) {
    const requests = config.rateLimitPerSecond * WINDOW_SECONDS;
    this.#quotas = {
      requests: new Quota('requests', requests),
      events: new Quota('events', requests * EVENTS_PER_REQUEST),
    };
  }

  /**
   * Counts, and tells with `RateLimit` and `RateLimit-Policy` what is left.
   * @throws GaplessError `rate_limited` when nothing is
   */
  async count(what: Countable, key: ApiKeyId, cost: number, reply: FastifyReply): Promise<void> {
    const quota = this.#quotas[what];
    const { remaining, resetSeconds } = await quota.use(key, cost);
    reply.header('ratelimit-policy', quota.policy);
    reply.header('ratelimit', `"${what}";r=${Math.max(0, remaining)};t=${resetSeconds}`);
    if (remaining < 0) {
      throw new GaplessError('rate_limited', `The key may use ${quota.amount} ${what} in ${WINDOW_SECONDS} seconds.`, {
        retryAfterSeconds: Math.max(1, resetSeconds),
      });
    }
  }
}
