import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { GaplessError } from '#libs/domain';
import { CONFIG } from '#libs/platform';
import type { Config } from '#libs/runtime';

/**
 * The units of rate limits. Failed sign-ins count by address and by the key that they name, changes by organization;
 * everything else counts by key.
 */
export type Countable = 'requests' | 'events' | 'bytes' | 'changes' | 'sign_ins';

/**
 * The window of a quota. A key may use two seconds' worth at once: on average it gets the configured rate, in a burst
 * at most twice that (contract 9).
 */
export const WINDOW_SECONDS = 2;
/** The events that count as much as one request, because an ingest request holds many. */
export const EVENTS_PER_REQUEST = 20;

/** The window of changes. It is longer, so that all endpoints of an organization can be registered at once. */
const CHANGE_WINDOW_SECONDS = 20;
/** A response shows one quota, so these are shown only when they run out. */
const SHOWN_AT_ITS_END: readonly Countable[] = ['bytes', 'changes'];

/** More than a whole office behind one address needs, and too few to guess a key. */
const SIGN_INS = 30;
const SIGN_IN_WINDOW_SECONDS = 60;

/** The quotas of one unit: one for each key, organization or address. */
class Quota {
  readonly #limiter: RateLimiterMemory;
  /** The quota for `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). */
  readonly policy: string;

  constructor(
    name: Countable,
    readonly amount: number,
    readonly windowSeconds: number,
  ) {
    this.#limiter = new RateLimiterMemory({ points: amount, duration: windowSeconds });
    this.policy = `"${name}";q=${amount};w=${windowSeconds}`;
  }

  async use(
    who: string,
    cost: number,
    counted: number,
  ): Promise<{ readonly remaining: number; readonly resetSeconds: number }> {
    // A request that costs more than the burst passes if the quota is full. Otherwise it could never pass.
    const used = await this.#limiter.penalty(who, Math.min(cost, this.amount) - counted);
    // The library reckons by the time of day. Its windows end by a timer, whatever the clock says.
    const resetSeconds = Math.min(Math.ceil(used.msBeforeNext / 1_000), this.windowSeconds);
    return { remaining: this.amount - used.consumedPoints, resetSeconds };
  }
}

/**
 * Limits the requests of each API key, the changes of each organization, and the failed sign-ins of each address, in this
 * process.
 */
@Injectable()
export class RateLimits {
  readonly #quotas: Readonly<Record<Countable, Quota>>;

  constructor(@Inject(CONFIG) config: Config) {
    const requests = config.rateLimitPerSecond * WINDOW_SECONDS;
    this.#quotas = {
      requests: new Quota('requests', requests, WINDOW_SECONDS),
      events: new Quota('events', requests * EVENTS_PER_REQUEST, WINDOW_SECONDS),
      bytes: new Quota('bytes', config.rateLimitBytesPerSecond * WINDOW_SECONDS, WINDOW_SECONDS),
      changes: new Quota('changes', config.rateLimitChangesPerSecond * CHANGE_WINDOW_SECONDS, CHANGE_WINDOW_SECONDS),
      sign_ins: new Quota('sign_ins', SIGN_INS, SIGN_IN_WINDOW_SECONDS),
    };
  }

  /**
   * Counts, and sets `RateLimit` and `RateLimit-Policy` to the remaining quota.
   * @param who the id of a key; for changes, of an org; for sign-ins, a key or an address
   * @param cost of the whole request, `counted` of which were counted before
   * @param reply `null` where a response does not show the quota, as in MCP
   * @throws GaplessError `rate_limited` when the quota is used up
   */
  async count(
    what: Countable,
    who: string,
    cost: number,
    reply: FastifyReply | null,
    { counted = 0 } = {},
  ): Promise<void> {
    const quota = this.#quotas[what];
    const { remaining, resetSeconds } = await quota.use(who, cost, counted);
    if (reply !== null && (!SHOWN_AT_ITS_END.includes(what) || remaining < 0)) {
      reply.header('ratelimit-policy', quota.policy);
      reply.header('ratelimit', `"${what}";r=${Math.max(0, remaining)};t=${resetSeconds}`);
    }
    if (remaining < 0) {
      throw new GaplessError(
        'rate_limited',
        `At most ${quota.amount} ${what.replace('_', '-')} in ${quota.windowSeconds} seconds.`,
        { limit: what, retryAfterSeconds: Math.max(1, resetSeconds) },
      );
    }
  }
}
