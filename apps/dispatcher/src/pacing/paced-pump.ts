import { setTimeout as delay } from 'node:timers/promises';
import type { DueAttempt, EndpointId, OrgId } from '#libs/domain';
import type { OverdueAttempt, OverdueDeliveries, PacedEndpoints } from '#libs/postgres';
import type { Logger } from '#libs/runtime';
import type { OrderedResult } from '../attempts/attempt-maker.js';
import { Flight } from '../lanes/lane.js';
import { OVERDUE_MS } from '../reconciling/reconciler.js';
import { DueLooks, LOOK_EVERY_MS, type FindDue, type Look, type Looked } from './due-looks.js';
import { OrderedPump, type OrderedPumpDependencies, type Started } from './ordered/ordered-pump.js';
import { WINDOW_AND_SLACK_MS, type PacedPartitions } from './paced-partitions.js';
import { forgetPassedOn, forgetProjected, isBegun, keyOf, keyOfDue, keyOfMade, PacedShare } from './paced-share.js';
import type { Slot } from './sent-window.js';

/** How often attempts are begun. */
const ROUND_EVERY_MS = 50;
/** How often the endpoints are read. A changed limit takes effect within this time. */
const LIST_EVERY_MS = 1_000;
const AFTER_FAILURE_MS = 1_000;
/** Attempts in flight to an endpoint without a limit of its own … */
const IN_FLIGHT_PER_ENDPOINT = 64;
/** … and while many are in flight to all of them: endpoints that hang leave room for the others. */
const IN_FLIGHT_WHILE_CROWDED = 4;
const CROWDED_FROM = 500;
/** The same for each endpoint of an organization, also with a limit of its own, while it has this many in flight. */
const ORG_CROWDED_FROM = 1_000;
/** Attempts that are read with their bytes at a time. */
const READ_AT_ONCE = 100;
/** Attempts in order that may begin before one out of order that waits for a place. */
const IN_ORDER_IN_A_ROW = 7;
/** Attempts out of order that wait for a place, with their bytes. */
const OUT_OF_ORDER_AT_ONCE = 4;
/** How long a process that ends waits until Postgres records that it has left its partitions. */
const LEAVE_MS = 1_000;

interface AttemptHooks {
  readonly onSent: () => void;
  /** The endpoint could not be read, so the attempt was not made. */
  readonly onUnreadable: () => void;
  /** The endpoint is not paced any more, so the attempt was passed on. */
  readonly onLeft: () => void;
}

export interface PacedPumpDependencies {
  readonly endpoints: Pick<PacedEndpoints, 'list'>;
  readonly overdue: Pick<OverdueDeliveries, 'suspects' | 'stillDue'>;
  /** What ordered endpoints need in addition. */
  readonly ordered: Pick<OrderedPumpDependencies, 'deliveries' | 'starts' | 'look' | 'prepare' | 'make'>;
  readonly partitions: Pick<PacedPartitions, 'ready' | 'keep' | 'leave'>;
  readonly partitionOf: (id: EndpointId) => number;
  /** Makes an attempt, or passes it on if its endpoint is not paced any more. Rejects only when the process ends. */
  readonly make: (due: DueAttempt, flight: Flight, hooks: AttemptHooks) => Promise<void>;
  /** The assignment in which attempts may begin now; `undefined` while they may not. */
  readonly generation: () => number | undefined;
  /** The longest time that an attempt takes. */
  readonly attemptMs: number;
  /** The clock of the delivery log. */
  readonly clockMs: () => number;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/** The partitions in which attempts may begin in one assignment, with the time from which limits per second hold. */
interface Ready {
  readonly generation: number;
  readonly partitions: ReadonlyMap<number, number>;
}

/** When it was noticed that an endpoint is not paced any more. */
interface Former {
  /** By the clock of the delivery log. */
  readonly asOf: Date;
  /** Its attempts are looked for until then, monotonic milliseconds. */
  readonly untilMs: number;
}

/**
 * Makes the attempts of endpoints that limit or order them, each when its endpoint has room. What waits is nowhere but in
 * the delivery log, so any number may wait. All attempts of an endpoint are made by one process: the owner of its
 * partition of the slow lane, which counts them. Those that wait for their turn are left to `OrderedPump`.
 */
export class PacedPump {
  readonly #shares = new Map<EndpointId, PacedShare>();
  /** Endpoints that were paced, and may have attempts that wait here. */
  readonly #former = new Map<EndpointId, Former>();
  /** The partitions of attempts that are under way. */
  readonly #underWay = new Map<Promise<void>, number>();
  #ready: Ready | undefined;
  #listedAtMs = -Infinity;
  #inFlight = 0;
  /** Attempts in flight to endpoints without a limit of their own, and to those of each organization. */
  #inFlightUnlimited = 0;
  readonly #inFlightOfOrg = new Map<OrgId, number>();
  #isEnding = false;
  readonly #ordered: OrderedPump;
  readonly #dueLooks: DueLooks;

  constructor(private readonly use: PacedPumpDependencies) {
    const { ordered, clockMs, nowMs, logger } = use;
    this.#ordered = new OrderedPump({
      ...ordered,
      start: (...attempt) => this.#start(...attempt),
      clockMs,
      nowMs,
      logger,
    });
    this.#dueLooks = new DueLooks({ isOrdered: (id) => this.#ordered.has(id), clockMs, nowMs, logger });
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get held(): number {
    return this.#underWay.size;
  }

  /** Runs until `drain` is called. */
  async run(): Promise<void> {
    await Promise.all([
      this.#repeat(() => this.round()),
      // Nothing else waits for these.
      this.#repeat(() => this.roundOfSuspects()),
      this.#repeat(() => this.roundOfFull()),
      this.#repeat(() => this.roundOutOfOrder()),
      // Nor do look-ups wait for rounds, which read much.
      this.#repeat(() => {
        this.#ordered.lookUp();
      }),
    ]);
  }

  async #repeat(round: () => Promise<void> | void): Promise<void> {
    while (!this.#isEnding) {
      try {
        await round();
        await delay(this.#shares.size === 0 ? LIST_EVERY_MS : ROUND_EVERY_MS, undefined, { ref: false });
      } catch (error) {
        this.use.logger.warn({ err: error }, 'dispatcher.pace_waits');
        await delay(AFTER_FAILURE_MS, undefined, { ref: false });
      }
    }
  }

  /** Begins no more attempts, waits up to `timeoutMs` for those in flight, and leaves the partitions to others. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isEnding = true;
    await Promise.race([Promise.allSettled(this.#underWay.keys()), delay(timeoutMs, undefined, { ref: false })]);
    // If it fails, the next owner waits for as long as an attempt may take.
    const left = this.use.partitions.leave((partition) => this.#isBusy(partition), true).catch(() => undefined);
    await Promise.race([left, delay(LEAVE_MS, undefined, { ref: false })]);
  }

  /** Begins the attempts that have room, of ordered endpoints only those that wait for their turn. */
  async round(): Promise<void> {
    const nowMs = this.use.nowMs();
    if (nowMs - this.#listedAtMs >= LIST_EVERY_MS) await this.#list(nowMs);
    await this.use.partitions.leave((partition) => this.#isBusy(partition));
    const generation = this.use.generation();
    if (generation === undefined) return;
    this.#ready = { generation, partitions: await this.use.partitions.ready() };
    if (this.#shares.size === 0) return;
    await this.use.partitions.keep();
    try {
      await this.#ordered.round(generation, (id) => this.#isReady(this.use.partitionOf(id)));
    } finally {
      // A statement about ordered endpoints that fails must not block the others.
      await this.#beginDueInAnyOrder(({ part, isFull }) => part === 0 && !isFull);
    }
  }

  /** Begins attempts of endpoints whose last look failed. The next one may take long, and fail. */
  async roundOfSuspects(): Promise<void> {
    await this.#beginDueInAnyOrder(({ part }) => part !== 0);
  }

  /** Begins attempts of endpoints that wait for the projection. They are read with all that they took. */
  async roundOfFull(): Promise<void> {
    await this.#beginDueInAnyOrder(({ part, isFull }) => part === 0 && isFull);
  }

  /** Begins attempts of ordered endpoints that do not wait for their turn, such as replays. */
  async roundOutOfOrder(): Promise<void> {
    await this.#beginDue(
      (id) => this.#ordered.has(id),
      (...asked) => this.use.overdue.suspects(...asked, 'out_of_order'),
    );
  }

  /** Begins attempts of endpoints that are not ordered. */
  async #beginDueInAnyOrder(isMeant: (share: PacedShare) => boolean): Promise<void> {
    await this.#beginDue(
      (id, share) => !this.#ordered.has(id) && isMeant(share),
      (...asked) => this.#dueInAnyOrder(...asked),
    );
  }

  /** Begins attempts that are due. */
  async #beginDue(isMeant: (id: EndpointId, share: PacedShare) => boolean, find: FindDue): Promise<void> {
    const nowMs = this.use.nowMs();
    const asked = [...this.#shares].filter(
      ([id, share]) =>
        isMeant(id, share) && share.isAsked(nowMs) && this.#isReady(share.partition) && this.#isWorthALook(id, share),
    );
    if (asked.length === 0) return;
    const looks = new Map<PacedShare, number>();
    for (const [, share] of asked) {
      share.lookAtMs = nowMs + LOOK_EVERY_MS;
      looks.set(share, ++share.looks);
    }
    const looked = await this.#dueLooks.look(this.#looks(asked), find);
    await this.#begin(this.#pick(looked, looks, nowMs));
    // Not before: what was picked must have begun when another round looks.
    for (const { share } of looked.read.values()) share.part = 0;
  }

  /** Whether attempts of the partition may begin in the current assignment. */
  #isReady(partition: number): boolean {
    return this.#ready?.partitions.has(partition) === true && this.use.generation() === this.#ready.generation;
  }

  #quietFromMs({ partition }: PacedShare): number {
    return this.#ready?.partitions.get(partition) ?? Infinity;
  }

  #roomOf(share: PacedShare): number {
    return share.room(this.#mostInFlight(share), this.#quietFromMs(share));
  }

  /**
   * Whether it has places. It may have no room: only a look finds out what is projected meanwhile. The lanes of an ordered
   * one leave a place only to what was found.
   */
  #isWorthALook(id: EndpointId, share: PacedShare): boolean {
    return this.#ordered.has(id) || share.places(this.#mostInFlight(share), this.#quietFromMs(share)) > 0;
  }

  #isBusy(partition: number): boolean {
    for (const busy of this.#underWay.values()) if (busy === partition) return true;
    return false;
  }

  /** Returns how many attempts may be in flight to the endpoint. */
  #mostInFlight({ limits: { orgId, maxInFlight } }: PacedShare): number {
    const isCrowded = this.#inFlightUnlimited >= CROWDED_FROM;
    const most = maxInFlight ?? (isCrowded ? IN_FLIGHT_WHILE_CROWDED : IN_FLIGHT_PER_ENDPOINT);
    const isOrgCrowded = (this.#inFlightOfOrg.get(orgId) ?? 0) >= ORG_CROWDED_FROM;
    return isOrgCrowded ? Math.min(most, IN_FLIGHT_WHILE_CROWDED) : most;
  }

  #count(orgId: OrgId, isUnlimited: boolean, change: 1 | -1): void {
    this.#inFlight += change;
    if (isUnlimited) this.#inFlightUnlimited += change;
    const ofOrg = (this.#inFlightOfOrg.get(orgId) ?? 0) + change;
    if (ofOrg === 0) this.#inFlightOfOrg.delete(orgId);
    else this.#inFlightOfOrg.set(orgId, ofOrg);
  }

  async #list(nowMs: number): Promise<void> {
    const paced = new Map((await this.use.endpoints.list()).map((endpoint) => [endpoint.id, endpoint]));
    this.#listedAtMs = nowMs;
    for (const [id, made] of this.#ordered.follow([...paced.values()])) {
      const share = this.#shares.get(id);
      for (const { key, attempts } of made) share?.taken.set(keyOfMade(key, 0, attempts), share.looks);
    }
    for (const [id, limits] of paced) {
      const share = this.#shares.get(id) ?? new PacedShare(limits, this.use.partitionOf(id), this.use.nowMs);
      this.#shares.set(id, share);
      share.limits = limits;
      // What was passed on while it was not paced waits here again, also if no list has shown that it was not.
      if (this.#former.delete(id)) share.taken.clear();
      forgetPassedOn(share, nowMs);
    }
    for (const [id, share] of this.#shares) {
      if (paced.has(id) || this.#former.has(id)) continue;
      // What it was owed may still be on its way into the delivery log. Later, the reconciler looks after it.
      this.#former.set(id, { asOf: new Date(this.use.clockMs()), untilMs: nowMs + OVERDUE_MS });
      share.limits = { ...share.limits, maxPerSecond: null, maxInFlight: null };
    }
    for (const [id, { untilMs }] of this.#former) {
      const share = this.#shares.get(id);
      // Here, nothing is looked for whose partition another process has.
      if (untilMs <= nowMs && share?.inFlight === 0 && !this.#isReady(share.partition)) this.#forget(id);
    }
  }

  #forget(id: EndpointId): void {
    this.#former.delete(id);
    this.#shares.delete(id);
  }

  /** Puts endpoints into one look that need about as many: one that needs many must not make others read as many. */
  #looks(asked: readonly (readonly [EndpointId, PacedShare])[]): readonly Look[] {
    const looks = new Map<string, Look>();
    for (const [id, share] of asked) {
      const isOrdered = this.#ordered.has(id);
      const begun = share.taken.size + (isOrdered ? 0 : share.inOrder.size);
      const least = isOrdered ? OUT_OF_ORDER_AT_ONCE : 1;
      const needed = Math.max(least, Math.min(READ_AT_ONCE, this.#roomOf(share))) + begun;
      const most = 4 ** Math.ceil(Math.log(needed) / Math.log(4));
      const key = `${share.part}/${most}`;
      const look = looks.get(key);
      if (look === undefined) looks.set(key, { most, shares: new Map([[id, share]]) });
      else look.shares.set(id, share);
    }
    return [...looks.values()];
  }

  /** Picks the urgent attempts and those that have waited longest, as many as have room. */
  #pick({ read, due }: Looked, looks: ReadonlyMap<PacedShare, number>, nowMs: number): readonly OverdueAttempt[] {
    const { attemptMs } = this.use;
    const byEndpoint = new Map<EndpointId, OverdueAttempt[]>();
    for (const attempt of due) {
      const found = byEndpoint.get(attempt.endpointId);
      if (found === undefined) byEndpoint.set(attempt.endpointId, [attempt]);
      else found.push(attempt);
    }
    const picked: OverdueAttempt[] = [];
    for (const [id, one] of read) {
      const { share } = one;
      const found = byEndpoint.get(id) ?? [];
      const former = this.#former.get(id);
      const own = former === undefined ? found : share.leftOf(found, former.asOf, attemptMs + WINDOW_AND_SLACK_MS);
      const fresh = own.filter((attempt) => !isBegun(share, keyOf(attempt)));
      forgetProjected(share, found, looks.get(share) ?? 0);
      const room = this.#roomOf(share);
      share.lookAtMs = fresh.length === 0 || room <= 0 ? this.#dueLooks.againAtMs(one, nowMs) : nowMs;
      if (former !== undefined && former.untilMs <= nowMs && fresh.length === 0 && share.inFlight === 0) {
        this.#forget(id);
      }
      share.outOfOrder = [];
      const most = this.#ordered.has(id) ? Math.max(OUT_OF_ORDER_AT_ONCE, room) : room;
      picked.push(...share.pick(fresh, Math.min(READ_AT_ONCE, most)));
    }
    return picked;
  }

  /** Each list begins with what is taken already, which is therefore not forgotten. */
  async #dueInAnyOrder(...asked: Parameters<FindDue>): Promise<readonly OverdueAttempt[]> {
    const { overdue } = this.use;
    return [...(await overdue.suspects(...asked, 'urgent')), ...(await overdue.suspects(...asked, 'not_urgent'))];
  }

  async #begin(picked: readonly OverdueAttempt[]): Promise<void> {
    for (let from = 0; from < picked.length; from += READ_AT_ONCE) {
      const { due: dues } = await this.use.overdue.stillDue(picked.slice(from, from + READ_AT_ONCE));
      const generation = this.use.generation();
      if (this.#isEnding || generation === undefined) return;
      for (const due of dues) {
        const share = this.#shares.get(due.delivery.endpointId);
        // The partition may belong to another process by now.
        if (share === undefined || !this.#isReady(share.partition)) continue;
        // Another round may have found it, too.
        if (isBegun(share, keyOfDue(due))) continue;
        if (this.#roomOf(share) > 0) this.#make(due, share, generation);
        // It had more room when they were picked. The others are found again.
        else if (this.#ordered.has(due.delivery.endpointId) && share.outOfOrder.length < OUT_OF_ORDER_AT_ONCE)
          share.outOfOrder.push({ due, generation });
      }
    }
  }

  /** Takes a place for an attempt of an ordered endpoint. */
  #start(id: EndpointId, generation: number, due: DueAttempt): Started | undefined {
    const share = this.#shares.get(id);
    if (share === undefined || this.#isEnding || this.use.generation() !== generation) return undefined;
    const hasRoom = () => share.roomInOrder(this.#mostInFlight(share), this.#quietFromMs(share)) > 0;
    if (!hasRoom()) return undefined;
    if (share.inOrderInARow >= IN_ORDER_IN_A_ROW) this.#makeOutOfOrder(share, generation);
    if (!hasRoom()) return undefined;
    share.inOrderInARow++;
    const { flight, slot, onSettled } = this.#aFlight(due, share, generation);
    const all = [due, ...(due.followers ?? [])];
    const keys = all.map(({ delivery, attempt }) => keyOfDue({ delivery, run: due.run, attempt }));
    for (const key of keys) share.inOrder.add(key);
    let isOver: () => void = () => undefined;
    const promise = new Promise<void>((resolve) => {
      isOver = resolve;
    });
    this.#underWay.set(promise, share.partition);
    return {
      flight,
      onSent: () => {
        slot.sent();
      },
      onOver: (result) => {
        onSettled();
        for (const key of keys) share.inOrder.delete(key);
        // Nobody else knows that they may still look due.
        if (!this.#ordered.has(id))
          for (const key of keys.slice(0, attemptsOf(result))) share.taken.set(key, share.looks);
        this.#underWay.delete(promise);
        isOver();
      },
    };
  }

  /** Makes the first attempt that waits for a place, if any. */
  #makeOutOfOrder(share: PacedShare, generation: number): void {
    for (let waiting = share.outOfOrder.shift(); waiting !== undefined; waiting = share.outOfOrder.shift()) {
      if (waiting.generation !== generation || isBegun(share, keyOfDue(waiting.due))) continue;
      share.inOrderInARow = 0;
      this.#make(waiting.due, share, generation);
      return;
    }
  }

  #aFlight({ envelope, followers = [] }: DueAttempt, share: PacedShare, generation: number) {
    const bytes = followers.reduce((sum, follower) => sum + follower.envelope.length, envelope.length);
    const slot = share.window.begin();
    const { orgId, maxInFlight } = share.limits;
    share.inFlight++;
    this.#count(orgId, maxInFlight === null, 1);
    const flight = new EndingFlight(slot, this.use.nowMs, {
      isLost: () => this.use.generation() !== generation,
      onOver: () => {
        share.inFlight--;
        share.settlingBytes += bytes;
        this.#count(orgId, maxInFlight === null, -1);
      },
    });
    const onSettled = () => {
      flight.over();
      share.settlingBytes -= bytes;
    };
    return { flight, slot, onSettled };
  }

  #make(due: DueAttempt, share: PacedShare, generation: number): void {
    const key = keyOfDue(due);
    const { flight, slot, onSettled } = this.#aFlight(due, share, generation);
    share.taken.set(key, 'in flight');
    share.passedOn.delete(key);
    let unreadableAtMs: number | null = null;
    const hooks = {
      onSent: () => {
        slot.sent();
      },
      onUnreadable: () => {
        unreadableAtMs = this.use.nowMs();
      },
      onLeft: () => {
        share.passedOn.set(key, this.use.nowMs());
      },
    };
    const made = this.use
      .make(due, flight, hooks)
      .catch(() => undefined)
      .finally(() => {
        onSettled();
        // An attempt that was withdrawn or left was not made, so it looks due for good reason.
        if (flight.isWithdrawn || unreadableAtMs !== null) share.taken.delete(key);
        else share.taken.set(key, share.looks);
        share.unreadableAtMs = unreadableAtMs;
        this.#underWay.delete(made);
      });
    this.#underWay.set(made, share.partition);
  }
}

/** A flight that leaves its slot when the endpoint has answered, or when it was not sent. */
class EndingFlight extends Flight {
  #isOver = false;

  constructor(
    private readonly slot: Slot,
    nowMs: () => number,
    private readonly hooks: { readonly isLost: () => boolean; readonly onOver: () => void },
  ) {
    super(nowMs);
  }

  override get isWithdrawn(): boolean {
    return super.isWithdrawn || this.hooks.isLost();
  }

  override answered(): void {
    super.answered();
    this.slot.ended();
    this.#end();
  }

  over(): void {
    this.slot.dropped();
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.hooks.onOver();
  }
}

/** Returns how many deliveries of a request had an attempt. */
function attemptsOf(result: OrderedResult): number {
  switch (result.kind) {
    case 'done':
      return result.deliveries;
    case 'waits':
      return 1;
    case 'unreadable':
    case 'left':
      return 0;
  }
}
