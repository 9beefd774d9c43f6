import type { EndpointId, OrgId, PlaceHolder } from '#libs/domain';

/** The limits of a lane. */
export interface LaneLimits {
  /**
   * Attempts that the lane holds, in flight and waiting. This bounds the memory, and the attempts that a restart
   * repeats.
   */
  readonly held: number;
  /** The part of `held` that is kept for endpoints that hold almost nothing, so that busy ones never fill the lane. */
  readonly keptForModest: number;
  /**
   * Attempts in flight to one endpoint. An attempt counts until the endpoint has answered, not until Kafka has its
   * outcome.
   */
  readonly inFlightPerEndpoint: number;
  /** Attempts that the endpoints of one organization may hold together. */
  readonly heldPerOrg: number;
  /** Attempts that one endpoint may hold, in flight and waiting, while it answers quickly. */
  readonly heldPerEndpoint: number;
  /** The same for an endpoint that answers slowly: many of them together must leave room for the others. */
  readonly heldPerSluggishEndpoint: number;
  /** Urgent attempts that one endpoint may hold in addition, and that pass its others. */
  readonly urgentPerEndpoint: number;
  /** The same for an endpoint that answers slowly. */
  readonly urgentPerSluggishEndpoint: number;
  /** The same for the endpoints of one organization together. */
  readonly urgentPerOrg: number;
}

/** An endpoint that takes longer than this to answer is sluggish … */
const SLUGGISH_AFTER_MS = 1_000;
/** … for this long after its last slow answer. */
const SLUGGISH_FOR_MS = 30_000;

/** An endpoint with fewer attempts than this holds almost nothing. */
const MODEST = 2;

/** An endpoint that was sent something within this time is being served. */
const LATELY_MS = 2_000;

/** An attempt in flight. It measures only the time of the endpoint, not that of this process. */
export class Flight {
  #postingSinceMs: number | null = null;
  /** How long the endpoint took to answer. */
  answeredAfterMs = 0;
  #isWithdrawn = false;

  constructor(
    private readonly nowMs: () => number,
    private readonly onAnswered: () => void = () => undefined,
    /** The owner that offered the attempt. */
    readonly owner?: object,
  ) {}

  /**
   * Whether the partition belongs to another owner by now, or the order of its endpoint has changed. The attempt must then
   * not be sent, unless it already was.
   */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn;
  }

  withdraw(): void {
    this.#isWithdrawn = true;
  }

  /** Call this before the POST, and after it `answered`, or `cut` if there will be another POST. */
  posting(): void {
    this.#postingSinceMs = this.nowMs();
  }

  cut(): void {
    this.#postingSinceMs = null;
  }

  answered(): void {
    this.answeredAfterMs = this.waitingMs;
    this.#postingSinceMs = null;
    this.onAnswered();
  }

  /** How long the current POST has waited for the endpoint; 0 without one. */
  get waitingMs(): number {
    return this.#postingSinceMs === null ? 0 : this.nowMs() - this.#postingSinceMs;
  }
}

/** Makes an attempt; never rejects. */
export type Make = (flight: Flight) => Promise<void>;

interface Waiting {
  /** Whether it passes the others of its endpoint. */
  readonly isUrgent: boolean;
  /** The owner that offered the attempt. */
  readonly owner: object;
  readonly make: Make;
  /** Passes the attempt on in place of making it. */
  readonly giveUp: () => void;
}

/** The attempts of an organization's endpoints in a lane. */
class OrgShare {
  held = 0;
  /** How many of them are urgent. */
  urgent = 0;
  /** How many endpoints of the organization the lane knows. */
  endpoints = 0;
  /** When the organization last held as many attempts as it may. */
  fullAtMs = -Infinity;
}

/** The attempts of one endpoint in a lane. */
class EndpointShare {
  /** Attempts that wait, urgent ones first. */
  readonly waiting: Waiting[] = [];
  /** The urgent attempts that are held. */
  urgent = 0;
  /** A `Set` iterates in the order of insertion, so the first is the oldest. */
  readonly inFlight = new Set<Flight>();
  /** Attempts that are answered, but whose outcome is not in Kafka yet. */
  settling = 0;
  sluggishUntilMs = -Infinity;
  startedAtMs = -Infinity;
  /** When the endpoint last held as many attempts as it may. */
  fullAtMs = -Infinity;

  constructor(
    readonly orgId: OrgId,
    readonly org: OrgShare,
  ) {}

  get held(): number {
    return this.inFlight.size + this.waiting.length + this.settling;
  }

  add(waiting: Waiting): void {
    if (waiting.isUrgent) this.waiting.splice(this.urgentWaiting, 0, waiting);
    else this.waiting.push(waiting);
  }

  get urgentWaiting(): number {
    const place = this.waiting.findIndex(({ isUrgent }) => !isUrgent);
    return place === -1 ? this.waiting.length : place;
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
   * @param mayStart whether one more attempt may begin now; if not, call `advance` later
   * @param takesTurns whether fewer attempts may begin than are ready, so that endpoints take turns
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

  /** How many attempts wait for the answer of their endpoint. */
  get inFlight(): number {
    let inFlight = 0;
    for (const share of this.#shares.values()) inFlight += share.inFlight.size;
    return inFlight;
  }

  /** How many attempts have begun, and have no outcome in Kafka yet. */
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
   * Offers an attempt to the lane. A few urgent ones of each endpoint pass its others. More of them get only places that
   * no other waits for, so that neither kind keeps the other waiting.
   * @param owner the owner of the attempt, which can `withdraw` it
   * @param giveUp called in place of `make` if the endpoint becomes sluggish while the attempt waits
   */
  offer(
    owner: object,
    { orgId, endpointId, isUrgent: asksToPass = false }: PlaceHolder & { readonly isUrgent?: boolean },
    make: Make,
    giveUp: () => void,
  ): Offer {
    const { held, keptForModest, heldPerOrg, heldPerEndpoint, heldPerSluggishEndpoint } = this.limits;
    const known = this.#shares.get(endpointId);
    const isModest = (known?.held ?? 0) < MODEST || (asksToPass && (known?.urgent ?? 0) < MODEST);
    if (this.#held >= (isModest ? held : held - keptForModest)) return 'lane_full';
    const share = this.#shareOf(orgId, endpointId);
    const nowMs = this.nowMs();
    if (asksToPass && this.#hasUrgentRoom(share, nowMs)) {
      this.#take(endpointId, share, { isUrgent: true, owner, make, giveUp });
      return 'taken';
    }
    const isIdle = share.waiting.length === 0 && share.inFlight.size < this.limits.inFlightPerEndpoint;
    if (asksToPass && !isIdle) return 'share_full';
    const room = (share.isSluggish(nowMs) ? heldPerSluggishEndpoint : heldPerEndpoint) - share.held;
    const roomOfOrg = heldPerOrg - share.org.held;
    if (room <= 1) share.fullAtMs = nowMs;
    if (roomOfOrg <= 1) share.org.fullAtMs = nowMs;
    if (room <= 0 || roomOfOrg <= 0) return 'share_full';
    this.#take(endpointId, share, { isUrgent: false, owner, make, giveUp });
    return 'taken';
  }

  #hasUrgentRoom(share: EndpointShare, nowMs: number): boolean {
    const { urgentPerEndpoint, urgentPerSluggishEndpoint, urgentPerOrg } = this.limits;
    const most = share.isSluggish(nowMs) ? urgentPerSluggishEndpoint : urgentPerEndpoint;
    return share.urgent < most && share.org.urgent < urgentPerOrg;
  }

  #take(endpointId: EndpointId, share: EndpointShare, waiting: Waiting): void {
    this.#held++;
    share.org.held++;
    if (waiting.isUrgent) {
      share.urgent++;
      share.org.urgent++;
    }
    share.add(waiting);
    this.#advance(endpointId, share);
  }

  isSluggish(endpointId: EndpointId): boolean {
    return this.#shares.get(endpointId)?.isSluggish(this.nowMs()) === true;
  }

  /** Updates the state of all shares, and gives up attempts that wait for sluggish endpoints. Call this regularly. */
  relieve(): void {
    if (this.#shares.size === 0) {
      this.#servesModestEndpoints = false;
      return;
    }
    const nowMs = this.nowMs();
    this.#servesModestEndpoints = [...this.#shares.values()].some(
      ({ startedAtMs, fullAtMs, org }) =>
        nowMs - startedAtMs < LATELY_MS && nowMs - Math.max(fullAtMs, org.fullAtMs) > SLUGGISH_FOR_MS,
    );
    for (const [endpointId, share] of this.#shares) {
      if (share.isSluggish(nowMs)) {
        const { heldPerSluggishEndpoint, urgentPerSluggishEndpoint } = this.limits;
        const urgent = Math.min(share.urgentWaiting, urgentPerSluggishEndpoint);
        const keep = Math.max(urgent, heldPerSluggishEndpoint - share.inFlight.size - share.settling);
        for (const given of share.waiting.splice(keep)) {
          given.giveUp();
          this.#release(share, given);
        }
      } else if (share.held === 0 && nowMs - share.startedAtMs > SLUGGISH_FOR_MS) {
        this.#shares.delete(endpointId);
        if (--share.org.endpoints === 0) this.#orgs.delete(share.orgId);
      }
    }
  }

  /** Drops the owner's waiting attempts, and marks its attempts in flight as withdrawn. */
  withdraw(owner: object): void {
    for (const share of this.#shares.values()) {
      const kept = share.waiting.filter((waiting) => waiting.owner !== owner);
      const dropped = share.waiting.filter((waiting) => waiting.owner === owner);
      share.waiting.splice(0, Infinity, ...kept);
      for (const waiting of dropped) this.#release(share, waiting);
      for (const flight of share.inFlight) if (flight.owner === owner) flight.withdraw();
    }
  }

  /** Begins waiting attempts, one for each endpoint in turn, for as long as attempts may begin. */
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

  /** Whether the lane was serving endpoints that stay within their share, as of the last `relieve`. */
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
    // Moves the endpoint to the end, so that the others come first the next time.
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
      // Answered attempts are settling. Attempts that were never sent are still in flight.
      if (!share.inFlight.delete(flight)) share.settling--;
      this.#release(share, next);
      this.#goOn(endpointId, share);
    });
  }

  /** Begins the next attempts. In a lane that takes turns, the other endpoints come before this one. */
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

  #release(share: EndpointShare, { isUrgent }: Waiting): void {
    share.org.held--;
    if (isUrgent) {
      share.urgent--;
      share.org.urgent--;
    }
    this.#held--;
    if (this.#held === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
