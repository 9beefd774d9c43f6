import type { EndpointId, OrgId, PlaceHolder } from '#libs/domain';

/** How much a lane takes up at a time. */
export interface LaneLimits {
  /** Attempts that are held in all, in flight and waiting: bounds the memory, and what a restart repeats. */
  readonly held: number;
  /** Of these, places for endpoints that hold almost nothing: busy ones never fill the lane. */
  readonly keptForModest: number;
  /** Attempts in flight to one endpoint: until it has answered, not until Kafka has what came of it. */
  readonly inFlightPerEndpoint: number;
  /** Attempts that the endpoints of one organization may hold together. */
  readonly heldPerOrg: number;
  /** Attempts that one endpoint may hold, in flight and waiting, while it answers quickly. */
  readonly heldPerEndpoint: number;
  /** The same for an endpoint that does not: many of them together must leave the lane to the others. */
  readonly heldPerSluggishEndpoint: number;
}

/** An answer later than this makes an endpoint sluggish … */
const SLUGGISH_AFTER_MS = 1_000;
/** … for this long after the last such attempt. */
const SLUGGISH_FOR_MS = 30_000;

/** An endpoint with fewer attempts than this holds almost nothing. */
const MODEST = 2;

/** An endpoint that was sent something within this time is being served. */
const LATELY_MS = 2_000;

/** An attempt in flight. It separates the time of the endpoint from the time of this process. */
export class Flight {
  #postingSinceMs: number | null = null;
  /** The longest that the endpoint took to answer. */
  answeredAfterMs = 0;
  /** Whether it is somebody else's by now, and must not be sent if it has not been yet. */
  isWithdrawn = false;

  constructor(
    private readonly nowMs: () => number,
    private readonly onAnswered: () => void = () => undefined,
    /** The owner that offered it. */
    readonly owner?: object,
  ) {}

  /** To be called around the POST. */
  posting(): void {
    this.#postingSinceMs = this.nowMs();
  }

  answered(): void {
    this.answeredAfterMs = this.waitingMs;
    this.#postingSinceMs = null;
    this.onAnswered();
  }

  /** For how long the endpoint has been waited for. */
  get waitingMs(): number {
    return this.#postingSinceMs === null ? 0 : this.nowMs() - this.#postingSinceMs;
  }
}

/** Makes an attempt; never rejects. */
export type Make = (flight: Flight) => Promise<void>;

interface Waiting {
  /** The owner that offered the attempt. */
  readonly owner: object;
  readonly make: Make;
  /** Gives the attempt to someone else. */
  readonly giveUp: () => void;
}

/** The attempts of an organization's endpoints in a lane. */
class OrgShare {
  held = 0;
  /** Endpoints that the lane knows. */
  endpoints = 0;
  /** When it last held all that it may. */
  fullAtMs = -Infinity;
}

/** The attempts of one endpoint in a lane. */
class EndpointShare {
  readonly waiting: Waiting[] = [];
  /** A `Set` iterates in the order of insertion, so the first is the oldest. */
  readonly inFlight = new Set<Flight>();
  /** Attempts that are answered, and whose outcome is on its way to Kafka. */
  settling = 0;
  sluggishUntilMs = -Infinity;
  startedAtMs = -Infinity;
  /** When it last held all that it may. */
  fullAtMs = -Infinity;

  constructor(
    readonly orgId: OrgId,
    readonly org: OrgShare,
  ) {}

  get held(): number {
    return this.inFlight.size + this.waiting.length + this.settling;
  }

  isSluggish(nowMs: number): boolean {
    if (nowMs < this.sluggishUntilMs) return true;
    const oldest = this.inFlight.values().next();
    return !oldest.done && oldest.value.waitingMs > SLUGGISH_AFTER_MS;
  }
}

/** The answer of a lane to an offered attempt. */
export type Offer =
  | 'taken'
  /** Its endpoint, or its organization, holds as much of the lane as it may. */
  | 'share_full'
  /** The lane holds as much as it may. */
  | 'lane_full';

/**
 * Keeps attempts in flight so that no endpoint blocks another. The lane holds a limited number of attempts. Each
 * organization gets a limited share of it, each endpoint a smaller one, and a slow endpoint a small one.
 */
export class Lane {
  readonly #shares = new Map<EndpointId, EndpointShare>();
  readonly #orgs = new Map<OrgId, OrgShare>();
  #held = 0;
  #idle: (() => void)[] = [];
  #servesModestEndpoints = false;

  /**
   * @param nowMs monotonic milliseconds
   * @param mayStart whether one more attempt may begin just now; if not, `advance` has to be called later
   * @param takesTurns whether fewer may begin than are ready, so that endpoints take turns
   */
  constructor(
    private readonly limits: LaneLimits,
    private readonly nowMs: () => number,
    private readonly mayStart: () => boolean = () => true,
    private readonly takesTurns: () => boolean = () => false,
  ) {}

  get held(): number {
    return this.#held;
  }

  /** Attempts that are being made. */
  get inFlight(): number {
    let inFlight = 0;
    for (const share of this.#shares.values()) inFlight += share.inFlight.size;
    return inFlight;
  }

  /** Attempts that have begun, and those whose outcome is on its way to Kafka. */
  get underWay(): number {
    let underWay = 0;
    for (const share of this.#shares.values()) underWay += share.inFlight.size + share.settling;
    return underWay;
  }

  get sluggishEndpoints(): number {
    const nowMs = this.nowMs();
    return [...this.#shares.values()].filter((share) => share.isSluggish(nowMs)).length;
  }

  /**
   * @param owner for what the attempt is made: it can be withdrawn by it
   * @param giveUp is called in place of `make` when the endpoint turns out to be sluggish while the attempt waits
   */
  offer(owner: object, { orgId, endpointId }: PlaceHolder, make: Make, giveUp: () => void): Offer {
    const { held, keptForModest, heldPerOrg, heldPerEndpoint, heldPerSluggishEndpoint } = this.limits;
    const isModest = (this.#shares.get(endpointId)?.held ?? 0) < MODEST;
    if (this.#held >= (isModest ? held : held - keptForModest)) return 'lane_full';
    const share = this.#shareOf(orgId, endpointId);
    const nowMs = this.nowMs();
    const room = (share.isSluggish(nowMs) ? heldPerSluggishEndpoint : heldPerEndpoint) - share.held;
    const roomOfOrg = heldPerOrg - share.org.held;
    if (room <= 1) share.fullAtMs = nowMs;
    if (roomOfOrg <= 1) share.org.fullAtMs = nowMs;
    if (room <= 0 || roomOfOrg <= 0) return 'share_full';
    this.#held++;
    share.org.held++;
    share.waiting.push({ owner, make, giveUp });
    this.#advance(endpointId, share);
    return 'taken';
  }

  /** Looks after all shares, and gives up what waits behind endpoints that have become sluggish; to be called every now and then. */
  relieve(): void {
    const nowMs = this.nowMs();
    this.#servesModestEndpoints = [...this.#shares.values()].some(
      ({ startedAtMs, fullAtMs, org }) =>
        nowMs - startedAtMs < LATELY_MS && nowMs - Math.max(fullAtMs, org.fullAtMs) > SLUGGISH_FOR_MS,
    );
    for (const [endpointId, share] of this.#shares) {
      if (share.isSluggish(nowMs)) {
        const keep = Math.max(0, this.limits.heldPerSluggishEndpoint - share.inFlight.size - share.settling);
        for (const { giveUp } of share.waiting.splice(keep)) {
          giveUp();
          this.#release(share);
        }
      } else if (share.held === 0 && nowMs - share.startedAtMs > SLUGGISH_FOR_MS) {
        this.#shares.delete(endpointId);
        if (--share.org.endpoints === 0) this.#orgs.delete(share.orgId);
      }
    }
  }

  /** Drops the owner's waiting attempts, and signals started ones that they need not be sent. */
  withdraw(owner: object): void {
    for (const share of this.#shares.values()) {
      const kept = share.waiting.filter((waiting) => waiting.owner !== owner);
      const dropped = share.waiting.length - kept.length;
      share.waiting.splice(0, Infinity, ...kept);
      for (let left = dropped; left > 0; left--) this.#release(share);
      for (const flight of share.inFlight) flight.isWithdrawn ||= flight.owner === owner;
    }
  }

  /** Begins what waits and may begin: endpoints take turns, since not all of it may begin now. */
  advance(): void {
    for (let isMore = true; isMore;) {
      isMore = false;
      for (const [endpointId, share] of [...this.#shares]) {
        if (share.waiting.length === 0 || share.inFlight.size >= this.limits.inFlightPerEndpoint) continue;
        if (!this.mayStart()) return;
        this.#begin(endpointId, share);
        isMore = true;
      }
    }
  }

  /** Whether endpoints that are content with their share were being sent anything, the last time it was looked. */
  get servesModestEndpoints(): boolean {
    return this.#servesModestEndpoints;
  }

  /** Resolves once nothing is held. */
  async idle(): Promise<void> {
    if (this.#held > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #advance(endpointId: EndpointId, share: EndpointShare): void {
    while (share.waiting.length > 0 && share.inFlight.size < this.limits.inFlightPerEndpoint && this.mayStart()) {
      this.#begin(endpointId, share);
    }
  }

  #begin(endpointId: EndpointId, share: EndpointShare): void {
    const next = share.waiting.shift();
    if (next === undefined) return;
    // The next time, the others come first.
    this.#shares.delete(endpointId);
    this.#shares.set(endpointId, share);
    share.startedAtMs = this.nowMs();
    const flight: Flight = new Flight(
      this.nowMs,
      () => {
        share.inFlight.delete(flight);
        share.settling++;
        if (flight.answeredAfterMs > SLUGGISH_AFTER_MS) share.sluggishUntilMs = this.nowMs() + SLUGGISH_FOR_MS;
        this.#goOn(endpointId, share);
      },
      next.owner,
    );
    share.inFlight.add(flight);
    void next.make(flight).finally(() => {
      // Without having been answered, it was not sent.
      if (!share.inFlight.delete(flight)) share.settling--;
      this.#release(share);
      this.#goOn(endpointId, share);
    });
  }

  /** In a lane that is slowed down, an endpoint that answers quickly is not the next one again. */
  #goOn(endpointId: EndpointId, share: EndpointShare): void {
    if (this.takesTurns()) this.advance();
    else this.#advance(endpointId, share);
  }

  #shareOf(orgId: OrgId, endpointId: EndpointId): EndpointShare {
    let share = this.#shares.get(endpointId);
    if (share !== undefined) return share;
    let org = this.#orgs.get(orgId);
    if (org === undefined) {
      org = new OrgShare();
      this.#orgs.set(orgId, org);
    }
    org.endpoints++;
    share = new EndpointShare(orgId, org);
    this.#shares.set(endpointId, share);
    return share;
  }

  #release(share: EndpointShare): void {
    share.org.held--;
    this.#held--;
    if (this.#held === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
