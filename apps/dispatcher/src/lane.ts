import type { EndpointId } from '#libs/domain';

/** How much a lane takes up at a time. */
export interface LaneLimits {
  /** Attempts that are held in all, in flight and waiting: bounds the memory, and what a restart repeats. */
  readonly held: number;
  /** Attempts in flight to one endpoint. */
  readonly inFlightPerEndpoint: number;
  /** Attempts that one endpoint may hold, in flight and waiting, while it answers quickly. */
  readonly heldPerEndpoint: number;
  /** The same for an endpoint that does not: many of them together must leave the lane to the others. */
  readonly heldPerSluggishEndpoint: number;
}

/** An answer later than this makes an endpoint sluggish … */
const SLUGGISH_AFTER_MS = 1_000;
/** … for this long after the last such attempt. */
const SLUGGISH_FOR_MS = 30_000;

interface Waiting {
  readonly make: () => Promise<void>;
  /** Gives the attempt to someone else. */
  readonly giveUp: () => void;
}

/** What a lane holds for one endpoint. */
class EndpointShare {
  readonly waiting: Waiting[] = [];
  /** Start times of what is in flight; a `Set` iterates in the order of insertion, so the first is the oldest. */
  readonly inFlight = new Set<{ readonly startedAtMs: number }>();
  sluggishUntilMs = -Infinity;

  get held(): number {
    return this.inFlight.size + this.waiting.length;
  }

  isSluggish(nowMs: number): boolean {
    if (nowMs < this.sluggishUntilMs) return true;
    const oldest = this.inFlight.values().next();
    return !oldest.done && nowMs - oldest.value.startedAtMs > SLUGGISH_AFTER_MS;
  }
}

/** What became of an attempt that was offered to a lane. */
export type Offer =
  | 'taken'
  /** Its endpoint holds as much of the lane as it may. */
  | 'endpoint_full'
  /** The lane holds as much as it may. */
  | 'lane_full';

/**
 * Keeps attempts in flight so that no endpoint stands in another's way: each holds a bounded share of a bounded whole,
 * and one that answers slowly a small one.
 */
export class Lane {
  readonly #shares = new Map<EndpointId, EndpointShare>();
  #held = 0;
  #idle: (() => void)[] = [];
  #room: (() => void)[] = [];

  /** @param nowMs monotonic milliseconds */
  constructor(
    private readonly limits: LaneLimits,
    private readonly nowMs: () => number,
  ) {}

  get held(): number {
    return this.#held;
  }

  /**
   * @param make makes the attempt; never rejects
   * @param giveUp is called in place of `make` when the endpoint turns out to be sluggish while the attempt waits
   */
  offer(endpointId: EndpointId, make: () => Promise<void>, giveUp: () => void): Offer {
    if (this.#held >= this.limits.held) return 'lane_full';
    let share = this.#shares.get(endpointId);
    if (share === undefined) {
      share = new EndpointShare();
      this.#shares.set(endpointId, share);
    }
    const { heldPerEndpoint, heldPerSluggishEndpoint } = this.limits;
    if (share.held >= (share.isSluggish(this.nowMs()) ? heldPerSluggishEndpoint : heldPerEndpoint))
      return 'endpoint_full';
    this.#held++;
    share.waiting.push({ make, giveUp });
    this.#advance(endpointId, share);
    return 'taken';
  }

  /** Gives up what waits behind endpoints that have become sluggish; to be called every now and then. */
  relieve(): void {
    const nowMs = this.nowMs();
    for (const [endpointId, share] of this.#shares) {
      if (share.isSluggish(nowMs)) {
        const keep = Math.max(0, this.limits.heldPerSluggishEndpoint - share.inFlight.size);
        for (const { giveUp } of share.waiting.splice(keep)) {
          giveUp();
          this.#release();
        }
      } else if (share.held === 0) {
        this.#shares.delete(endpointId);
      }
    }
  }

  /** Resolves once something is let go of. */
  async room(): Promise<void> {
    await new Promise<void>((resolve) => this.#room.push(resolve));
  }

  /** Resolves once nothing is held. */
  async idle(): Promise<void> {
    if (this.#held > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #advance(endpointId: EndpointId, share: EndpointShare): void {
    while (share.inFlight.size < this.limits.inFlightPerEndpoint) {
      const next = share.waiting.shift();
      if (next === undefined) return;
      const flight = { startedAtMs: this.nowMs() };
      share.inFlight.add(flight);
      void next.make().finally(() => {
        const endedAtMs = this.nowMs();
        share.inFlight.delete(flight);
        if (endedAtMs - flight.startedAtMs > SLUGGISH_AFTER_MS) share.sluggishUntilMs = endedAtMs + SLUGGISH_FOR_MS;
        this.#release();
        this.#advance(endpointId, share);
      });
    }
  }

  #release(): void {
    this.#held--;
    for (const resolve of this.#room.splice(0)) resolve();
    if (this.#held === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
