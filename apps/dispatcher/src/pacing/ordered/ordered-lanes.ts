import {
  BATCH_FRAME_BYTES,
  LANES,
  MAX_BATCH_BYTES,
  type DeliveryRef,
  type DueAttempt,
  type EndpointId,
  type Ordering,
} from '#libs/domain';
import type { OrderedDelivery, OrderedRange } from '#libs/postgres';
import type { OrderedResult } from '../../attempts/attempt-maker.js';
import type { Found } from '../../attempts/dispatch-lookup.js';

/** How often to look for deliveries of a lane that has room, and of one that has nothing to do. */
const LOOK_EVERY_MS = 100;
const LOOK_WHEN_IDLE_MS = 200;
/** How often to look whether the first delivery of a waiting lane has been skipped. */
const LOOK_WHILE_WAITING_MS = 500;
/** The first look at an endpoint with lanes reads at most this many of all lanes. With more, each lane is read. */
const FIRST_LOOK = 64;
/** Requests of a lane that are read ahead. So the next one is there at the answer, even if a read takes as long as two. */
const REQUESTS_AHEAD = 2;
const REQUESTS_AHEAD_WHOLE = 3;
/** The least number of deliveries of a lane that are read ahead. */
const AHEAD = 8;
const AHEAD_WHOLE = 32;
/** How often deliveries that are done are read again. In between, only those after all known ones are read. */
const CHECK_EVERY_MS = 500;
const CHECK_OFTEN_MS = 200;
/** How often all known deliveries are read again, also those that are not sent yet. They may be many. */
const CHECK_ALL_EVERY_MS = 5_000;
/** Deliveries whose outcomes are not projected yet. With more, the endpoint waits for the projection. */
const NOT_PROJECTED = 4_000;
/** With more of them, it is checked more often how far the projection is. */
const MANY_NOT_PROJECTED = 1_000;
/** How old a look-up of the endpoint may be when an attempt begins. */
const LOOK_UP_AGE_MS = 150;

/** Identifies a row of the delivery log. An event that is twice in the log may have two with the same id. */
export function keyOf({ deliveryId, createdAtMs }: Pick<DeliveryRef, 'deliveryId' | 'createdAtMs'>): string {
  return `${deliveryId}/${createdAtMs}`;
}

/** Identifies the rows of an attempt: that of its delivery, and those of its followers. */
export function keysOf({ delivery, followers = [] }: DueAttempt): readonly string[] {
  return [delivery, ...followers.map((follower) => follower.delivery)].map(keyOf);
}

/** A delivery with its bytes. */
interface Queued extends OrderedDelivery {
  readonly envelope: Buffer;
}

/** An attempt that was made. */
export interface MadeInOrder {
  /** Identifies its delivery, as `keyOf` does. */
  readonly key: string;
  /** The number of attempts before it. */
  readonly attempts: number;
}

/** A delivery that is done. */
interface Done {
  readonly seq: number;
  /** The number of attempts before the last one. */
  readonly attempts: number;
}

/** A delivery at the head of its lane that waits for its next attempt, or for an endpoint that could not be read. */
interface FailedHead {
  readonly key: string;
  readonly seq: number;
  readonly attempts: number;
  readonly untilMs: number;
}

interface ReachOptions {
  /** How many deliveries are queued at most; 0 to read none ahead. */
  readonly ahead: number;
  readonly nowMs: number;
  readonly clockMs: number;
  readonly checkEveryMs: number;
}

interface LookedUp {
  /** Identify what was asked for: a delivery and its followers. */
  readonly keys: readonly string[];
  readonly found: Found;
  /** When it was asked for, monotonic milliseconds. */
  readonly atMs: number;
}

/** The deliveries of one lane. At most one request of it is under way. */
export class OrderedLane {
  queue: Queued[] = [];
  /** What was sent, or is about to be. */
  flying: readonly Queued[] = [];
  /** When that began, monotonic milliseconds. */
  begunAtMs = -Infinity;
  /** Deliveries that are done, and may still look pending. */
  readonly done = new Map<string, Done>();
  failed: FailedHead | null = null;
  lookAtMs = -Infinity;
  #checkedAtMs = -Infinity;
  #checkedAllAtMs = -Infinity;
  /** The most deliveries of the next batch. After a failure it begins with the first one alone, and doubles. */
  most = Infinity;
  isLookingUp = false;
  /** Whether the queue was given up since the last read was asked for. What that finds may follow what is given up. */
  #hasGivenUp = false;
  /** The next deliveries and their endpoint, as they were looked up a moment ago. */
  lookedUp: LookedUp | null = null;

  /** @param key its number; `null` if the endpoint has no other lane */
  constructor(readonly key: number | null) {}

  get held(): number {
    return this.queue.length + this.flying.length;
  }

  /** Call this when a read is asked for. */
  asks(): void {
    this.#hasGivenUp = false;
  }

  /** Returns what to read now; `undefined` for nothing. Known deliveries have the lowest seqs. */
  reach({ ahead, nowMs, clockMs, checkEveryMs }: ReachOptions): Pick<OrderedRange, 'after' | 'limit'> | undefined {
    const { done, flying, queue } = this;
    if (this.waits(clockMs)) return { after: 0, limit: done.size + 1 };
    const lastSeq = (queue.at(-1) ?? flying.at(-1))?.delivery.seq;
    const room = queue.length * 3 <= ahead * 2 ? ahead - queue.length : 0;
    if (lastSeq === undefined || nowMs - this.#checkedAllAtMs >= CHECK_ALL_EVERY_MS) {
      this.#checkedAllAtMs = nowMs;
      this.#checkedAtMs = nowMs;
      const limit = done.size + flying.length + queue.length + room;
      return limit === 0 ? undefined : { after: 0, limit };
    }
    if (done.size > 0 && nowMs - this.#checkedAtMs >= checkEveryMs) {
      this.#checkedAtMs = nowMs;
      return { after: 0, limit: done.size + 1 };
    }
    return room === 0 ? undefined : { after: lastSeq, limit: room };
  }

  /** Whether nothing of it is known. */
  get isEmpty(): boolean {
    return this.held === 0 && this.done.size === 0 && this.failed === null;
  }

  /** The attempts that were made, and may still look due. */
  get made(): readonly MadeInOrder[] {
    const { done, failed } = this;
    return [
      ...[...done].map(([key, { attempts }]) => ({ key, attempts })),
      ...(failed === null ? [] : [{ key: failed.key, attempts: failed.attempts - 1 }]),
    ];
  }

  get heldBytes(): number {
    let bytes = 0;
    for (const held of [this.queue, this.flying]) for (const { envelope } of held) bytes += envelope.length;
    return bytes;
  }

  /** Whether the next delivery waits for its next attempt. */
  waits(clockMs: number): boolean {
    return this.failed !== null && this.failed.untilMs > clockMs;
  }

  /**
   * Whether its wait was over by the clock of this process. The delivery log may have a later time for its next attempt:
   * the clock of the brokers may be ahead.
   */
  #hasWaited({ delivery, attempts }: OrderedDelivery): boolean {
    return this.failed?.key === keyOf(delivery) && this.failed.attempts === attempts;
  }

  /** Returns the attempt of the next delivery, with as many followers as a request may have; `undefined` for none. */
  next(limit: number, clockMs: number): DueAttempt | undefined {
    const [first] = this.queue;
    if (first === undefined || this.flying.length > 0 || this.waits(clockMs)) return undefined;
    if (!isDue(first, clockMs) && !this.#hasWaited(first)) {
      this.#wait(first, first.attempts, first.dueAtMs);
      return undefined;
    }
    this.most = this.#mostAfter(first);
    return this.attemptOf(first, Math.min(limit, this.most), clockMs);
  }

  /** The failure of an earlier owner is known only by the attempts of the delivery. */
  #mostAfter({ attempts }: OrderedDelivery): number {
    return attempts > 0 && this.most === Infinity ? 1 : this.most;
  }

  /** Returns the attempt that probably follows the one under way; `undefined` if more may be added to it. */
  upcoming(limit: number, clockMs: number): DueAttempt | undefined {
    const [first] = this.queue;
    if (first === undefined || this.failed !== null || !isDue(first, clockMs)) return undefined;
    const due = this.attemptOf(first, Math.min(limit, this.#mostAfter(first)), clockMs);
    const events = 1 + (due.followers?.length ?? 0);
    return events === limit || events < this.queue.length ? due : undefined;
  }

  /** Returns the attempt of the first delivery of the queue, with as many followers as a request may have. */
  attemptOf(first: Queued, limit: number, clockMs: number): DueAttempt {
    let bytes = BATCH_FRAME_BYTES + first.envelope.length;
    let count = 1;
    for (const follower of this.queue.slice(1, limit)) {
      bytes += follower.envelope.length + 1;
      if (bytes > MAX_BATCH_BYTES || !isDue(follower, clockMs)) break;
      count++;
    }
    const followers = this.queue.slice(1, count);
    return {
      delivery: first.delivery,
      run: 0,
      attempt: first.attempts + 1,
      dueAtMs: first.dueAtMs,
      traceparent: null,
      envelope: first.envelope,
      ...(followers.length === 0
        ? {}
        : {
            followers: followers.map(({ delivery, attempts, dueAtMs, envelope }) => ({
              delivery,
              attempt: attempts + 1,
              dueAtMs,
              envelope,
            })),
          }),
    };
  }

  /** Moves the deliveries of the attempt out of the queue. */
  begin({ followers = [] }: DueAttempt, nowMs: number): void {
    this.begunAtMs = nowMs;
    this.failed = null;
    this.lookedUp = null;
    this.lookAtMs = -Infinity;
    this.flying = this.queue.splice(0, 1 + followers.length);
  }

  end(result: OrderedResult): void {
    const sent = this.flying;
    this.flying = [];
    const [first] = sent;
    if (first === undefined) return;
    switch (result.kind) {
      case 'done':
        this.most = Math.max(1, this.most) * 2;
        for (const { delivery, attempts } of sent.slice(0, result.deliveries)) {
          this.done.set(keyOf(delivery), { seq: delivery.seq, attempts });
        }
        this.queue.unshift(...sent.slice(result.deliveries));
        return;
      case 'waits':
        this.most = 1;
        this.#wait(first, first.attempts + 1, result.untilMs);
        return;
      case 'unreadable':
        this.#wait(first, first.attempts, result.untilMs);
        return;
      case 'left':
        this.#giveUpQueue();
    }
  }

  /** Keeps no bytes while it waits: the wait may be hours. */
  #wait({ delivery }: OrderedDelivery, attempts: number, untilMs: number): void {
    this.failed = { key: keyOf(delivery), seq: delivery.seq, attempts, untilMs };
    this.#giveUpQueue();
  }

  /**
   * Deliveries that are being read follow the queue, so they are given up, too, however long the read takes. They are read
   * again with those before them.
   */
  #giveUpQueue(): void {
    this.queue = [];
    this.#hasGivenUp = true;
  }

  /**
   * Notes which deliveries are pending. The others were skipped, or ended for another reason. One that is done here, and
   * has had more attempts than were known here, still waits: the fact of an earlier owner came late, before ours.
   * @param pending by key
   * @param after the seq after which was looked
   * @param through the last seq that was looked at
   */
  saw(pending: ReadonlyMap<string, OrderedDelivery>, after: number, through: number): void {
    const isGone = (seq: number, key: string) => seq > after && seq <= through && !pending.has(key);
    const queue = this.queue.filter(({ delivery }) => !isGone(delivery.seq, keyOf(delivery)));
    // The next request has room for later ones, which were not looked up.
    if (queue.length < this.queue.length) this.lookedUp = null;
    this.queue = queue;
    if (this.failed !== null && isGone(this.failed.seq, this.failed.key)) this.failed = null;
    for (const [key, { seq, attempts }] of this.done) {
      if (isGone(seq, key) || (pending.get(key)?.attempts ?? 0) > attempts) this.done.delete(key);
    }
  }

  /** Returns those of the deliveries that it does not know, in their latest state. */
  fresh(rows: readonly OrderedDelivery[], clockMs: number): readonly OrderedDelivery[] {
    if (this.#hasGivenUp || this.waits(clockMs)) return [];
    const known = new Set([...this.queue, ...this.flying].map(({ delivery }) => keyOf(delivery)));
    return rows
      .filter(({ delivery }) => !known.has(keyOf(delivery)) && !this.done.has(keyOf(delivery)))
      .map((row) => this.#latest(row));
  }

  /** A failure may be known here before it is projected. */
  #latest(row: OrderedDelivery): OrderedDelivery {
    const { failed } = this;
    if (failed === null || keyOf(row.delivery) !== failed.key || row.attempts >= failed.attempts) return row;
    return { ...row, attempts: failed.attempts, dueAtMs: failed.untilMs };
  }

  /**
   * @param deliveries what `fresh` returned last
   * @param envelopes the bytes of the first deliveries
   */
  add(deliveries: readonly OrderedDelivery[], envelopes: readonly Buffer[]): void {
    if (this.#hasGivenUp) return;
    for (const [index, envelope] of envelopes.entries()) {
      const row = deliveries[index];
      if (row !== undefined) this.queue.push({ ...row, envelope });
    }
    this.queue.sort((one, other) => one.delivery.seq - other.delivery.seq);
  }

  /** Returns what was looked up for all deliveries of the attempt, unless it is too old. */
  foundFor(due: DueAttempt, nowMs: number): Found | undefined {
    const { lookedUp } = this;
    if (lookedUp === null || nowMs - lookedUp.atMs > LOOK_UP_AGE_MS) return undefined;
    // Others may have been added since then. Nothing is known of them, such as whether they were skipped.
    const isCovered = keysOf(due).every((key, nth) => key === lookedUp.keys[nth]);
    return isCovered ? lookedUp.found : undefined;
  }
}

/** A first attempt is due whatever the clocks say. */
function isDue({ attempts, dueAtMs }: OrderedDelivery, clockMs: number): boolean {
  return attempts === 0 || dueAtMs <= clockMs;
}

/** What to read, and for which lanes. */
export interface LaneRead {
  readonly range: OrderedRange;
  /** `null` for all lanes. */
  readonly lane: OrderedLane | null;
}

/** The lanes of an ordered endpoint, as its owner knows them. */
export class OrderedLanes {
  readonly #lanes: readonly OrderedLane[];
  #lookAtMs = -Infinity;

  constructor(
    readonly endpointId: EndpointId,
    public ordering: Ordering,
  ) {
    const keys = ordering.by === 'endpoint' ? [null] : Array.from({ length: LANES }, (_, key) => key);
    this.#lanes = keys.map((key) => new OrderedLane(key));
  }

  get lanes(): readonly OrderedLane[] {
    return this.#lanes;
  }

  /** Whether attempts may begin: the projection is not too far behind. */
  get mayBegin(): boolean {
    return this.#notProjected < NOT_PROJECTED;
  }

  get #notProjected(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.done.size, 0);
  }

  /**
   * Returns what is to be read now.
   * @param laneBytes a lane that holds more reads nothing ahead
   */
  reads(nowMs: number, clockMs: number, laneBytes = Infinity): readonly LaneRead[] {
    const { endpointId } = this;
    if (this.#lanes.length > 1 && this.#lanes.every((lane) => lane.isEmpty)) {
      if (nowMs < this.#lookAtMs) return [];
      this.#lookAtMs = nowMs + LOOK_WHEN_IDLE_MS;
      for (const lane of this.#lanes) lane.asks();
      return [{ range: { endpointId, lane: null, after: 0, limit: FIRST_LOOK }, lane: null }];
    }
    const { batch } = this.ordering;
    const ahead =
      this.#lanes.length === 1
        ? Math.max(REQUESTS_AHEAD_WHOLE * batch, AHEAD_WHOLE)
        : Math.max(REQUESTS_AHEAD * batch, AHEAD);
    const checkEveryMs = this.#notProjected > MANY_NOT_PROJECTED ? CHECK_OFTEN_MS : CHECK_EVERY_MS;
    const reads: LaneRead[] = [];
    for (const lane of this.#lanes) {
      if (nowMs < lane.lookAtMs) continue;
      const hasRoom = lane.heldBytes < laneBytes;
      const reach = lane.reach({ ahead: hasRoom ? ahead : 0, nowMs, clockMs, checkEveryMs });
      if (reach === undefined) continue;
      lane.lookAtMs = nowMs + lookAgainAfterMs(lane, clockMs);
      lane.asks();
      reads.push({ range: { endpointId, lane: lane.key, ...reach }, lane });
    }
    return reads;
  }

  /**
   * Takes note of what was read.
   * @returns the deliveries whose bytes are to be read, by lane
   */
  saw(
    { range, lane }: LaneRead,
    rows: readonly OrderedDelivery[],
    clockMs: number,
  ): readonly (readonly [OrderedLane, readonly OrderedDelivery[]])[] {
    const isFull = rows.length === range.limit;
    const through = isFull ? (rows.at(-1)?.delivery.seq ?? 0) : Infinity;
    const pending = new Map(rows.map((row) => [keyOf(row.delivery), row]));
    const lanes = lane === null ? this.#lanes : [lane];
    const fresh = lanes.map((one) => {
      one.saw(pending, range.after, through);
      const its = lane === null ? rows.filter(({ delivery }) => delivery.lane === one.key) : rows;
      return [one, one.fresh(its, clockMs)] as const;
    });
    return fresh.filter(([, deliveries]) => deliveries.length > 0);
  }
}

function lookAgainAfterMs(lane: OrderedLane, clockMs: number): number {
  const { failed } = lane;
  if (failed !== null && failed.untilMs > clockMs) return Math.min(LOOK_WHILE_WAITING_MS, failed.untilMs - clockMs);
  return lane.held === 0 ? LOOK_WHEN_IDLE_MS : LOOK_EVERY_MS;
}
