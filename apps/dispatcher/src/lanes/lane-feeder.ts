import { setTimeout as delay } from 'node:timers/promises';
import type { DueAttempt, EndpointId } from '#libs/domain';
import {
  CompletionTracker,
  readAttemptRecord,
  type Appender,
  type BatchContext,
  type ConsumerSessions,
  type Handled,
  type RecordBatch,
  type StoredRecord,
  type TopicNames,
} from '#libs/kafka-log';
import type { Logger } from '#libs/runtime';
import type { Flight, Lane, Offer } from './lane.js';
import type { FoundTarget } from '../attempts/attempt-maker.js';
import { notAnAttempt } from '../attempts/not-an-attempt.js';

const COMMIT_EVERY_MS = 250;
/** How often waiting attempts are offered to the lane again, and those of lost partitions withdrawn. */
const OFFER_EVERY_MS = 10;
/**
 * Bytes of a partition's attempts that may wait for room, or are being diverted. With more, an endpoint without room delays
 * fewer others.
 */
const WAITING_BYTES = 4 * 1024 * 1024;
/** A partition with fewer bytes that wait goes on. */
const GOES_ON_BYTES = 3 * 1024 * 1024;
/** Bytes that may wait for the share of an endpoint that answers quickly, before such attempts are diverted. */
const PATIENT_BYTES = 2 * 1024 * 1024;
/** The same for urgent attempts, in addition: a sweep may raise hundreds of alerts at once. */
const URGENT_BYTES = 512 * 1024;
/** An envelope whose memory is more than this many times its length is copied. A large one in a response of its own is not. */
const MOST_MEMORY = 4;
/** How long attempts in flight may delay the release of partitions to other members. */
const RELEASE_MS = 500;
/** The longest rest of a partition. Usually a rest ends earlier, when fewer of its attempts wait. */
export const LONGEST_REST_MS = 60_000;

export interface LaneFeederOptions {
  readonly group: string;
  readonly lane: Lane;
  /**
   * Rejects only when the process ends.
   * @param found given if the attempt was offered with it
   */
  readonly make: (due: DueAttempt, flight: Flight, found?: FoundTarget) => Promise<void>;
  /**
   * Diverts an attempt whose share has no room. Never rejects. Without it, such attempts wait, and the partition
   * pauses.
   */
  readonly divert?: (due: DueAttempt) => Promise<void>;
  /** Called when everything in the partition before this offset is complete. */
  readonly onComplete?: (partition: number, nextOffset: number) => void;
}

export interface LaneFeederDependencies {
  readonly appender: Appender;
  readonly sessions: ConsumerSessions;
  readonly topics: TopicNames;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** What becomes of an offered attempt. */
type Offered = 'taken' | 'share_full';

/** A record whose offset may be committed once it is closed as often as it was held, and all its attempts have ended. */
export class OpenRecord {
  #holds = 1;
  #envelope: Buffer | null = null;

  constructor(
    private readonly on: {
      offer(attempt: Waiting): Offered;
      divert(attempt: Waiting): void;
      complete(): void;
    },
  ) {}

  /**
   * Offers an attempt to the lane. If its share is full, and the feeder can divert attempts, the caller must divert it.
   * @param found where to push, if that is known already
   */
  offer(due: DueAttempt, found?: FoundTarget): Offered {
    return this.on.offer({ due: this.#withOwnBytes(due), record: this, ...(found && { found }) });
  }

  /** Diverts an attempt whose share is full. The caller goes on meanwhile. */
  divert(due: DueAttempt): void {
    this.on.divert({ due: this.#withOwnBytes(due), record: this });
  }

  /**
   * The envelope may be a view that would keep a whole response of Kafka in memory for as long as the attempt takes. All
   * attempts of the record have the same envelope, so they share one copy.
   */
  #withOwnBytes(due: DueAttempt): DueAttempt {
    const { envelope } = due;
    this.#envelope ??= envelope.buffer.byteLength > MOST_MEMORY * envelope.length ? Buffer.from(envelope) : envelope;
    return { ...due, envelope: this.#envelope };
  }

  /** Keeps the record open until `close` is called once more. */
  hold(): void {
    this.#holds++;
  }

  close(): void {
    if (--this.#holds === 0) this.on.complete();
  }
}

/** The batch of a handler that opens its records one by one. */
export interface Intake {
  /** Lasts as long as this member has the partition without a break. */
  readonly stay: object;
  /** Whether the feeder takes no more records, because the process ends. */
  readonly isOver: boolean;
  /** Whether too much of the partition waits to take more. It then rests: leave its records for `LONGEST_REST_MS`. */
  readonly isFull: boolean;
  /** Whether the record was opened in this stay. */
  wasOpened(record: StoredRecord): boolean;
  open(record: StoredRecord): OpenRecord;
  /** Ends the stay. Its open records come again, with those after them. */
  giveUp(): void;
  /** Returns the result of the batch: the partition rests while too much of it waits. */
  handled(): Handled;
}

interface Waiting {
  readonly due: DueAttempt;
  readonly record: OpenRecord;
  readonly found?: FoundTarget;
}

/** Attempts that found no room, by endpoint. Looking for room costs one step per endpoint, not per attempt. */
class WaitingRoom {
  readonly #byEndpoint = new Map<EndpointId, Waiting[]>();
  bytes = 0;

  add(waiting: Waiting): void {
    const { delivery, envelope } = waiting.due;
    const { endpointId } = delivery;
    const queue = this.#byEndpoint.get(endpointId);
    if (queue === undefined) this.#byEndpoint.set(endpointId, [waiting]);
    else queue.push(waiting);
    this.bytes += envelope.length;
  }

  /** Whether earlier attempts of the endpoint wait, which later ones must not overtake. */
  holds({ delivery }: DueAttempt): boolean {
    return this.#byEndpoint.has(delivery.endpointId);
  }

  /** Offers each endpoint's attempts in their order, until one is not taken. */
  offer(isTaken: (waiting: Waiting) => boolean): void {
    for (const [endpointId, queue] of this.#byEndpoint) {
      let taken = 0;
      for (const waiting of queue) {
        if (!isTaken(waiting)) break;
        this.bytes -= waiting.due.envelope.length;
        taken++;
      }
      if (taken === queue.length) this.#byEndpoint.delete(endpointId);
      else if (taken > 0) queue.splice(0, taken);
    }
  }
}

interface PartitionFlight {
  readonly topic: string;
  readonly partition: number;
  readonly tracker: CompletionTracker;
  /** The generation of the assignment in which the partition was last fed. */
  generation: number;
  /** Fetched attempts that have no room in the lane yet. */
  readonly waiting: WaitingRoom;
  /** The urgent ones, which come first. */
  readonly urgent: WaitingRoom;
  /** Bytes of attempts that are being diverted. */
  divertingBytes: number;
  isResting: boolean;
  committed: number;
  /** The first offset of the last batch. */
  handedFrom: number;
  context: BatchContext;
}

/**
 * Feeds a lane from a topic. It starts attempts in order, and lets them end in any order. It commits a partition's
 * offset up to the first attempt that has not ended.
 */
export class LaneFeeder {
  readonly #flights = new Map<number, PartitionFlight>();
  readonly #relieving: NodeJS.Timeout;
  /** Runs only while there are attempts. */
  #offering: NodeJS.Timeout | null = null;
  #draining = false;
  /** The generation of the assignment that the flights were last compared with. */
  #generation: number | null = null;
  /** Whether partitions are about to be released to other members. */
  #isReleasing = false;

  constructor(
    private readonly options: LaneFeederOptions,
    private readonly use: LaneFeederDependencies,
  ) {
    this.#relieving = setInterval(() => {
      options.lane.relieve();
      void this.#commitAll();
    }, COMMIT_EVERY_MS);
    use.sessions.beforeRelease(options.group, () => this.#release());
  }

  /** Whether attempts may begin: not while the partitions may already belong to others, which would make them twice. */
  get mayBegin(): boolean {
    this.#withdrawLost();
    return !this.#isReleasing && this.use.sessions.of(this.options.group)?.holdsLease() === true;
  }

  /** Returns as soon as each attempt is taken or waits for room, so that other partitions continue. */
  async feed(batch: RecordBatch, context: BatchContext): Promise<Handled> {
    const flight = this.#flightNow(batch, context);
    const intake = this.#intake(flight, batch);
    // A rest may have reached its longest time before there is room.
    const { isFull } = intake;
    for (const record of batch.records) {
      if (isFull || intake.isOver) return leftFrom(record);
      if (intake.wasOpened(record)) continue;
      const due = readAttemptRecord(record);
      if (due === undefined) {
        await this.use.appender.append([notAnAttempt(this.use.topics, record)]);
        const { topic, partition, offset } = record;
        this.use.logger.warn({ topic, partition, from: offset, records: 1 }, 'dispatcher.dead_letters');
      }
      const open = intake.open(record);
      if (due !== undefined && open.offer(due) === 'share_full') open.divert(due);
      open.close();
    }
    return intake.handled();
  }

  /** Takes a batch whose records the handler opens. Everything before the first one that is not complete is committed. */
  take(batch: RecordBatch, context: BatchContext): Intake {
    return this.#intake(this.#flightNow(batch, context), batch);
  }

  #intake(flight: PartitionFlight, batch: RecordBatch): Intake {
    const { tracker } = flight;
    const isDraining = () => this.#draining;
    const restsIfFull = () => this.#restsIfFull(flight);
    // Open records must not hold the batch: some wait long.
    const nextOffset = (batch.records.at(-1)?.offset ?? 0) + 1;
    return {
      stay: flight,
      get isOver() {
        return isDraining();
      },
      get isFull() {
        return restsIfFull();
      },
      wasOpened: ({ offset }) => offset < tracker.next,
      open: ({ offset }) => {
        tracker.take(offset);
        return new OpenRecord({
          offer: (attempt) => this.#offerOrWait(flight, attempt),
          divert: (attempt) => {
            this.#divert(flight, attempt);
          },
          complete: () => {
            tracker.complete(offset);
          },
        });
      },
      giveUp: () => {
        if (this.#has(flight)) this.#withdraw(flight);
      },
      handled: () => {
        if (!restsIfFull()) return undefined;
        return { kind: 'later', nextOffset, waitMs: LONGEST_REST_MS };
      },
    };
  }

  /** Takes no more attempts, waits up to `timeoutMs` for those that the lane holds, and commits. */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    await Promise.race([this.options.lane.idle(), delay(timeoutMs, undefined, { ref: false })]);
    clearInterval(this.#relieving);
    if (this.#offering !== null) clearInterval(this.#offering);
    await this.#commitAll();
  }

  #flightNow(batch: RecordBatch, context: BatchContext): PartitionFlight {
    this.#withdrawLost();
    const firstOffset = batch.records[0]?.offset ?? 0;
    const known = this.#flights.get(batch.partition);
    // After a rebalance the partition is fetched from its committed offset. Attempts in flight here come again, and are
    // not taken again. If the offset is another one, another member had the partition meanwhile. A batch that failed
    // comes again as well. An earlier one comes only if the group's position was moved back.
    const goesOn =
      known !== undefined &&
      (known.generation === context.generation
        ? firstOffset >= Math.min(known.committed, known.handedFrom)
        : firstOffset <= known.committed);
    if (goesOn) {
      known.handedFrom = firstOffset;
      known.context = context;
      if (known.generation !== context.generation) {
        known.generation = context.generation;
        // Offsets in between were not committed.
        known.committed = firstOffset;
      }
      return known;
    }
    if (known !== undefined) this.#withdraw(known);
    const { topic, partition } = batch;
    const tracker = new CompletionTracker(firstOffset);
    const flight = {
      topic,
      partition,
      tracker,
      generation: context.generation,
      waiting: new WaitingRoom(),
      urgent: new WaitingRoom(),
      divertingBytes: 0,
      isResting: false,
      committed: firstOffset,
      handedFrom: firstOffset,
      context,
    };
    this.#flights.set(partition, flight);
    return flight;
  }

  /** @returns whether the partition rests until less of it waits */
  #restsIfFull(flight: PartitionFlight): boolean {
    flight.isResting = bytesOf(flight) > WAITING_BYTES;
    if (flight.isResting) this.#keepOffering();
    return flight.isResting;
  }

  #offerOrWait(flight: PartitionFlight, attempt: Waiting): Offered {
    this.#withdrawLost();
    // The partition was lost while its batch was handled. Its next owner makes the attempt.
    if (!this.#has(flight)) return 'taken';
    this.#keepOffering();
    const waiting = roomOf(flight, attempt.due);
    const offered = waiting.holds(attempt.due) ? 'share_full' : this.#offer(flight, attempt);
    if (offered === 'share_full' && !this.#isPatient(flight, attempt.due)) return offered;
    if (offered !== 'taken') waiting.add(attempt);
    attempt.record.hold();
    return 'taken';
  }

  #offer(flight: PartitionFlight, attempt: Waiting): Offer {
    const { due, record, found } = attempt;
    const make = (making: Flight) =>
      this.options.make(due, making, found).then(
        () => {
          record.close();
        },
        (error: unknown) => {
          this.#interrupted(error);
        },
      );
    const giveUp = () => {
      if (this.options.divert === undefined) roomOf(flight, due).add(attempt);
      else {
        this.#divert(flight, attempt);
        record.close();
      }
    };
    return this.options.lane.offer(flight, due.delivery, make, giveUp);
  }

  /** Whether the attempt waits until its share has room. It does not wait behind slow answers if it can be diverted. */
  #isPatient(flight: PartitionFlight, due: DueAttempt): boolean {
    if (this.options.divert === undefined) return true;
    const most = due.delivery.isUrgent === true ? URGENT_BYTES : PATIENT_BYTES;
    return roomOf(flight, due).bytes < most && !this.options.lane.isSluggish(due.delivery.endpointId);
  }

  #divert(flight: PartitionFlight, { due, record }: Waiting): void {
    record.hold();
    flight.divertingBytes += due.envelope.length;
    void this.options.divert?.(due).then(
      () => {
        flight.divertingBytes -= due.envelope.length;
        record.close();
      },
      (error: unknown) => {
        this.#interrupted(error);
      },
    );
  }

  /**
   * If the end of the process interrupts an attempt, its offset is not committed. The next owner of the partition makes
   * it.
   */
  #interrupted(error: unknown): void {
    if (!this.use.signal.aborted) this.use.logger.error({ err: error }, 'attempt.interrupted');
  }

  #keepOffering(): void {
    if (this.#draining) return;
    this.#offering ??= setInterval(() => {
      this.#offerWaiting();
      if (this.#hasAttempts || this.#offering === null) return;
      clearInterval(this.#offering);
      this.#offering = null;
    }, OFFER_EVERY_MS);
  }

  get #hasAttempts(): boolean {
    return (
      this.options.lane.held > 0 ||
      [...this.#flights.values()].some((flight) => flight.isResting || bytesOf(flight) > 0)
    );
  }

  /** Offers waiting attempts in order. An endpoint without room does not block others. */
  #offerWaiting(): void {
    if (!this.mayBegin || this.#draining) return;
    this.options.lane.advance();
    for (const flight of this.#flights.values()) {
      for (const room of [flight.urgent, flight.waiting]) room.offer((waiting) => this.#isPlaced(flight, waiting));
      if (!flight.isResting || bytesOf(flight) > GOES_ON_BYTES) continue;
      flight.isResting = false;
      flight.context.resume(flight.topic, flight.partition);
    }
  }

  /** @returns whether the attempt was taken, by this lane or by the one that it is diverted to */
  #isPlaced(flight: PartitionFlight, attempt: Waiting): boolean {
    const offered = this.#offer(flight, attempt);
    if (offered !== 'share_full' || this.#isPatient(flight, attempt.due)) return offered === 'taken';
    this.#divert(flight, attempt);
    attempt.record.close();
    return true;
  }

  /** Starts no more attempts, and commits those that end soon, so that the next owner repeats fewer. */
  async #release(): Promise<void> {
    // Notes the assignment that ends, so that only the next one lets attempts begin again.
    this.#withdrawLost();
    this.#isReleasing = true;
    const { lane } = this.options;
    const deadline = performance.now() + RELEASE_MS;
    while (lane.underWay > 0 && performance.now() < deadline) await delay(OFFER_EVERY_MS);
    await this.#commitAll();
  }

  /** Drops the waiting attempts of partitions that now belong to others. */
  #withdrawLost(): void {
    const session = this.use.sessions.of(this.options.group);
    if (session === undefined || session.generation === this.#generation) return;
    this.#generation = session.generation;
    this.#isReleasing = false;
    for (const flight of this.#flights.values()) {
      if (session.assigned[flight.topic]?.includes(flight.partition) !== true) this.#withdraw(flight);
    }
  }

  /** Whether this member has had the partition without a break since the flight began. */
  #has(flight: PartitionFlight): boolean {
    return this.#flights.get(flight.partition) === flight;
  }

  #withdraw(flight: PartitionFlight): void {
    this.#flights.delete(flight.partition);
    this.options.lane.withdraw(flight);
  }

  async #commitAll(): Promise<void> {
    const session = this.use.sessions.of(this.options.group);
    await Promise.all(
      [...this.#flights.values()].map(async (flight) => {
        const { topic, partition, tracker, context } = flight;
        this.options.onComplete?.(partition, tracker.committable);
        if (tracker.committable === flight.committed) return;
        // Commit only partitions that this member still has in this generation. Others are fetched again from their old
        // offset.
        if (session?.generation !== flight.generation || session.assigned[topic]?.includes(partition) !== true) return;
        flight.committed = tracker.committable;
        await context.commit(topic, partition, flight.committed);
      }),
    );
  }
}

/** Returns the bytes of the partition's attempts that are in no lane yet. */
function bytesOf({ waiting, urgent, divertingBytes }: PartitionFlight): number {
  return waiting.bytes + urgent.bytes + divertingBytes;
}

/** Urgent attempts wait in a room of their own, so that they do not wait for others of their endpoint. */
function roomOf({ urgent, waiting }: PartitionFlight, { delivery }: DueAttempt): WaitingRoom {
  return delivery.isUrgent === true ? urgent : waiting;
}

/** Leaves this record and those after it for later, or to the next owner of the partition. */
function leftFrom({ offset }: StoredRecord): Handled {
  return { kind: 'later', nextOffset: offset, waitMs: LONGEST_REST_MS };
}
