import { MAX_BATCH_BYTES, type DueAttempt, type EndpointId } from '#libs/domain';
import type { OrderedDeliveries, PacedEndpoint } from '#libs/postgres';
import type { Logger } from '#libs/runtime';
import type { OrderedResult } from '../../attempts/attempt-maker.js';
import type { Found } from '../../attempts/dispatch-lookup.js';
import type { Flight } from '../../lanes/lane.js';
import type { OrderStart, OrderStarts } from './order-start.js';
import { keyOf, keysOf, OrderedLanes, type LaneRead, type MadeInOrder, type OrderedLane } from './ordered-lanes.js';

/**
 * Bytes that all lanes share. A lane with more than its part reads nothing ahead, and one that holds nothing always reads. So
 * lanes of slow endpoints do not keep others waiting.
 */
const HELD_BYTES = 64 * 1024 * 1024;
/** Lanes whose bytes are read with one statement. */
const LANES_AT_ONCE = 16;
/** How old a look-up may be before it is repeated for the next attempt. */
const LOOK_UP_EVERY_MS = 50;
/** The same for a batch. Each of its deliveries is looked up, so this happens less often. */
const LOOK_UP_BATCH_EVERY_MS = 75;
/** How long a request may be under way and the next one still be looked up ahead. It would save a slow endpoint no time. */
const LOOK_UP_FOR_MS = 1_000;
/** The same for a batch. It is looked up about four times at most. */
const LOOK_UP_BATCH_FOR_MS = 250;

/** A request that has a place. */
export interface Started {
  readonly flight: Flight;
  readonly onSent: () => void;
  /** Call this when the attempt is over in every way, with what became of it. */
  readonly onOver: (result: OrderedResult) => void;
}

export interface OrderedPumpDependencies {
  readonly deliveries: Pick<OrderedDeliveries, 'first' | 'envelopes'>;
  readonly starts: OrderStarts;
  readonly look: (due: DueAttempt) => Promise<Found>;
  /** Makes an attempt ready that may begin soon. */
  readonly prepare: (due: DueAttempt, found: Found) => void;
  /** Rejects only when the process ends. */
  readonly make: (
    due: DueAttempt,
    found: Found,
    flight: Flight,
    onSent: () => void,
    onResult: (result: OrderedResult) => void,
  ) => Promise<void>;
  /** Takes a place for an attempt now; `undefined` if the endpoint has no room, or attempts may not begin. */
  readonly start: (id: EndpointId, generation: number, due: DueAttempt) => Started | undefined;
  /** The clock of the delivery log. */
  readonly clockMs: () => number;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/** An ordered endpoint in one assignment. */
interface InOrder {
  readonly lanes: OrderedLanes;
  readonly start: OrderStart;
  /** Those of the requests under way. */
  readonly flights: Set<Flight>;
  /** The lane that comes first when there is a place. With few places, the lanes take turns. */
  turn: number;
}

/**
 * Makes the attempts of ordered endpoints. Each lane sends the deliveries with the lowest seqs, and goes on at the answer:
 * what comes next is read ahead, and the outcomes are projected later. All of it is forgotten with the assignment. The next
 * owner reads from the delivery log what is still pending.
 */
export class OrderedPump {
  readonly #endpoints = new Map<EndpointId, InOrder>();
  #listed: ReadonlyMap<EndpointId, PacedEndpoint> = new Map();
  #generation: number | null = null;
  /** Whether it is being found out which orders begin. */
  #isAdvancing = false;

  constructor(private readonly use: OrderedPumpDependencies) {}

  has(id: EndpointId): boolean {
    return this.#endpoints.has(id);
  }

  /**
   * Takes the endpoints as they are now.
   * @returns the attempts, without those under way, that may still look due at endpoints that are not ordered any more
   */
  follow(listed: readonly PacedEndpoint[]): ReadonlyMap<EndpointId, readonly MadeInOrder[]> {
    this.#listed = new Map(listed.filter(({ orderedSinceMs }) => orderedSinceMs !== null).map((one) => [one.id, one]));
    const left = new Map<EndpointId, readonly MadeInOrder[]>();
    for (const [id, { lanes }] of this.#endpoints) {
      if (this.#listed.has(id)) continue;
      this.#withdraw(id);
      left.set(
        id,
        lanes.lanes.flatMap(({ made }) => made),
      );
      this.#endpoints.delete(id);
    }
    for (const endpoint of this.#listed.values()) {
      const known = this.#endpoints.get(endpoint.id);
      if (known === undefined) this.#begin(endpoint, endpoint.isOrderBegun);
      else if (
        known.start.orderedSinceMs !== endpoint.orderedSinceMs ||
        known.lanes.ordering.by !== endpoint.ordering.by
      )
        this.#begin(endpoint, false);
      else known.lanes.ordering = endpoint.ordering;
    }
    return left;
  }

  /** Reads what has room, and begins the attempts of lanes that are free. */
  async round(generation: number, isOwned: (id: EndpointId) => boolean): Promise<void> {
    if (generation !== this.#generation) {
      this.#generation = generation;
      for (const endpoint of this.#listed.values()) this.#begin(endpoint, endpoint.isOrderBegun);
    }
    const owned = [...this.#endpoints.values()].filter(({ start }) => isOwned(start.endpointId));
    const ready = owned.filter(({ start }) => start.isReady);
    this.#advanceStarts(owned.map(({ start }) => start));
    await this.#read(ready);
    for (const endpoint of ready) this.#advance(endpoint, generation);
    this.lookUp();
  }

  /** Asks Kafka, which may take long. Nothing waits for this but the orders that cannot begin yet. */
  #advanceStarts(starts: readonly OrderStart[]): void {
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    void this.use.starts
      .advance(starts)
      .catch((error: unknown) => {
        this.use.logger.warn({ err: error }, 'dispatcher.pace_waits');
      })
      .finally(() => {
        this.#isAdvancing = false;
      });
  }

  /** Looks up the next deliveries and their endpoints, so that their lanes go on at the answers. Call it often. */
  lookUp(): void {
    for (const endpoint of this.#endpoints.values()) {
      for (const lane of endpoint.lanes.lanes) this.#lookUpNext(endpoint, lane);
    }
  }

  #begin(endpoint: PacedEndpoint, isReady: boolean): void {
    const { id, ordering } = endpoint;
    this.#withdraw(id);
    this.#endpoints.set(id, {
      lanes: new OrderedLanes(id, ordering),
      start: this.use.starts.begin(endpoint, isReady),
      flights: new Set(),
      turn: 0,
    });
  }

  /** A request that still waits, such as for Postgres, must not be sent: it may wait until the next order has begun. */
  #withdraw(id: EndpointId): void {
    for (const flight of this.#endpoints.get(id)?.flights ?? []) flight.withdraw();
  }

  /** Whether it is what is known of the endpoint now. */
  #isCurrent(endpoint: InOrder): boolean {
    return this.#endpoints.get(endpoint.start.endpointId) === endpoint;
  }

  async #read(endpoints: readonly InOrder[]): Promise<void> {
    const { deliveries, nowMs, clockMs } = this.use;
    const holding = endpoints.flatMap(({ lanes }) => lanes.lanes.filter(({ held }) => held > 0)).length;
    const laneBytes = HELD_BYTES / Math.max(1, holding);
    const asked: (readonly [InOrder, LaneRead])[] = endpoints.flatMap((endpoint) =>
      endpoint.lanes.reads(nowMs(), clockMs(), laneBytes).map((read) => [endpoint, read] as const),
    );
    if (asked.length === 0) return;
    const found = await deliveries.first(asked.map(([, { range }]) => range));
    const wanted = asked.flatMap(([{ lanes }, read], index) => lanes.saw(read, found[index] ?? [], clockMs()));
    // Many lanes may ask at once, such as after the start. Each gets at least one delivery.
    const readBytes = Math.min(MAX_BATCH_BYTES, Math.floor(HELD_BYTES / Math.max(1, wanted.length)));
    for (let from = 0; from < wanted.length; from += LANES_AT_ONCE) {
      const some = wanted.slice(from, from + LANES_AT_ONCE);
      const envelopes = await deliveries.envelopes(
        some.map(([, rows]) => rows),
        readBytes,
      );
      for (const [index, [lane, rows]] of some.entries()) lane.add(rows, envelopes[index] ?? []);
    }
  }

  /** Looks up the next attempt while another one is under way, so that the lane goes on at the answer. */
  #lookUpNext(endpoint: InOrder, lane: OrderedLane): void {
    const [next] = lane.queue;
    if (next === undefined || lane.flying.length === 0 || lane.isLookingUp) return;
    const { nowMs, clockMs } = this.use;
    const { batch } = endpoint.lanes.ordering;
    if (nowMs() - lane.begunAtMs > (batch === 1 ? LOOK_UP_FOR_MS : LOOK_UP_BATCH_FOR_MS)) return;
    const key = keyOf(next.delivery);
    const everyMs = batch === 1 ? LOOK_UP_EVERY_MS : LOOK_UP_BATCH_EVERY_MS;
    if (lane.lookedUp?.keys[0] === key && nowMs() - lane.lookedUp.atMs < everyMs) return;
    lane.isLookingUp = true;
    const atMs = nowMs();
    const due = lane.attemptOf(next, batch, clockMs());
    void this.use
      .look(due)
      .then(
        (found) => {
          if (!this.#isCurrent(endpoint)) return;
          lane.lookedUp = { keys: keysOf(due), found, atMs };
          const upcoming = lane.upcoming(endpoint.lanes.ordering.batch, clockMs());
          if (upcoming !== undefined) this.use.prepare(upcoming, found);
        },
        () => undefined,
      )
      .finally(() => {
        lane.isLookingUp = false;
      });
  }

  /** Begins the attempts of lanes that are free, as many as have a place. */
  #advance(endpoint: InOrder, generation: number): void {
    if (!endpoint.lanes.mayBegin || !this.#isCurrent(endpoint)) return;
    const { lanes } = endpoint.lanes;
    const { turn } = endpoint;
    for (const nth of lanes.keys()) {
      const place = (turn + nth) % lanes.length;
      const lane = lanes[place];
      const due = lane?.next(endpoint.lanes.ordering.batch, this.use.clockMs());
      if (lane === undefined || due === undefined) continue;
      const started = this.use.start(endpoint.start.endpointId, generation, due);
      if (started === undefined) return;
      endpoint.turn = place + 1;
      this.#beginNext(endpoint, lane, due, started, generation);
    }
  }

  #beginNext(endpoint: InOrder, lane: OrderedLane, due: DueAttempt, started: Started, generation: number): void {
    const lookedUp = lane.foundFor(due, this.use.nowMs());
    lane.begin(due, this.use.nowMs());
    endpoint.flights.add(started.flight);
    let ended: OrderedResult | null = null;
    const end = (result: OrderedResult): OrderedResult => {
      if (ended !== null) return ended;
      ended = result;
      lane.end(result);
      this.#advance(endpoint, generation);
      return result;
    };
    void this.#make(due, lookedUp, started, end)
      .catch(() => undefined)
      .finally(() => {
        endpoint.flights.delete(started.flight);
        started.onOver(end({ kind: 'left' }));
      });
    this.#lookUpNext(endpoint, lane);
  }

  async #make(
    due: DueAttempt,
    lookedUp: Found | undefined,
    { flight, onSent }: Started,
    onResult: (result: OrderedResult) => void,
  ): Promise<void> {
    const found = lookedUp ?? (await this.use.look(due));
    await this.use.make(due, found, flight, onSent, onResult);
  }
}
