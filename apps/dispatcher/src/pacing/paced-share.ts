import type { DueAttempt } from '#libs/domain';
import type { OverdueAttempt, PacedEndpoint } from '#libs/postgres';
import { UNREADABLE_WAIT_MS } from '../attempts/dispatch-lookup.js';
import { keyOf as keyOfDelivery } from './ordered/ordered-lanes.js';
import { SentWindow } from './sent-window.js';

/** Attempts of an endpoint whose outcomes are not projected yet. With more, it waits for the projection. */
const TAKEN_PER_ENDPOINT = 2_000;
/** Bytes of an endpoint's answered requests whose outcomes are not in Kafka yet. With more, it gets no others. */
const SETTLING_BYTES = 8 * 1024 * 1024;
/** Urgent attempts that may begin before one that is not urgent and waits. */
const URGENT_IN_A_ROW = 3;

/** An attempt out of order, as the last look found it. */
interface OutOfOrder {
  readonly due: DueAttempt;
  readonly generation: number;
}

/** The attempts of one endpoint. */
export class PacedShare {
  readonly window: SentWindow;
  /** Attempts that were begun and may still look due, each with the look after which it ended. */
  readonly taken = new Map<string, number | 'in flight'>();
  /**
   * When those of them were passed on that found the endpoint without limits. If it has limits again by then, others leave
   * them to it.
   */
  readonly passedOn = new Map<string, number>();
  /** Attempts in flight that wait for their turn. They look due if the endpoint is not ordered any more. */
  readonly inOrder = new Set<string>();
  inFlight = 0;
  /** Bytes of answered requests whose outcomes are not in Kafka yet. */
  settlingBytes = 0;
  lookAtMs = -Infinity;
  /** How many looks have begun. */
  looks = 0;
  /** When an attempt was left because the endpoint could not be read; `null` if the last one was not. */
  unreadableAtMs: number | null = null;
  /** Urgent attempts that were picked since the last one that is not. */
  urgentInARow = 0;
  /** They wait until the lanes leave them a place. */
  outOfOrder: OutOfOrder[] = [];
  /** Attempts in order that have begun since such a place. */
  inOrderInARow = 0;
  /** Names the endpoints that it is looked at with after a failed look; 0 after one that succeeded. */
  part = 0;
  /** When each attempt that came after the limits were removed was first seen due, monotonic milliseconds. */
  #laterSinceMs = new Map<string, number>();

  constructor(
    public limits: PacedEndpoint,
    readonly partition: number,
    private readonly nowMs: () => number,
  ) {
    this.window = new SentWindow(nowMs);
  }

  /** Whether it waits until what it took is projected. */
  get isFull(): boolean {
    return this.taken.size >= TAKEN_PER_ENDPOINT;
  }

  /** Whether its attempts may be looked for. */
  isAsked(nowMs: number): boolean {
    const isUnreadable = this.unreadableAtMs !== null && nowMs - this.unreadableAtMs < UNREADABLE_WAIT_MS;
    return this.lookAtMs <= nowMs && !isUnreadable;
  }

  /** Returns how many attempts may begin now. */
  room(mostInFlight: number, quietFromMs: number): number {
    return Math.min(this.places(mostInFlight, quietFromMs), TAKEN_PER_ENDPOINT - this.taken.size);
  }

  /**
   * Returns how many attempts the endpoint has places for, if their outcomes are projected soon enough. A single one
   * finds out whether the endpoint can be read again.
   * @param quietFromMs before this time, attempts of another process count for the limit per second
   */
  places(mostInFlight: number, quietFromMs: number): number {
    const most = this.unreadableAtMs === null ? Infinity : 1 - this.inFlight;
    return Math.min(this.roomInOrder(mostInFlight, quietFromMs), most);
  }

  /**
   * Selects the attempts from before the limits were removed. Others make later ones, which do not look due for long. One
   * that does may be from before: the brokers' clock may be ahead.
   * @param asOf when the limits were removed, by the clock of this process
   * @param longMs how long a later attempt must look due
   */
  leftOf(due: readonly OverdueAttempt[], asOf: Date, longMs: number): readonly OverdueAttempt[] {
    const [nowMs, known] = [this.nowMs(), this.#laterSinceMs];
    this.#laterSinceMs = new Map();
    return due.filter((attempt) => {
      if (attempt.createdAt <= asOf) return true;
      const key = keyOf(attempt);
      const sinceMs = known.get(key) ?? nowMs;
      this.#laterSinceMs.set(key, sinceMs);
      return nowMs - sinceMs >= longMs;
    });
  }

  /** Picks attempts, urgent ones first. Of four, one is not urgent if any such one waits. */
  pick(waiting: readonly OverdueAttempt[], most: number): readonly OverdueAttempt[] {
    const urgent = waiting.filter(({ isUrgent }) => isUrgent);
    const others = waiting.filter(({ isUrgent }) => !isUrgent);
    const picked: OverdueAttempt[] = [];
    while (picked.length < most) {
      const isOthersTurn = this.urgentInARow >= URGENT_IN_A_ROW && others.length > 0;
      const next = isOthersTurn ? others.shift() : (urgent.shift() ?? others.shift());
      if (next === undefined) break;
      this.urgentInARow = next.isUrgent ? this.urgentInARow + 1 : 0;
      picked.push(next);
    }
    return picked;
  }

  /** Returns how many attempts of ordered deliveries may begin now. */
  roomInOrder(mostInFlight: number, quietFromMs: number): number {
    if (this.settlingBytes >= SETTLING_BYTES) return 0;
    const { maxPerSecond } = this.limits;
    const places = mostInFlight - this.inFlight;
    if (maxPerSecond === null) return places;
    return this.nowMs() < quietFromMs ? 0 : Math.min(places, maxPerSecond - this.window.counted);
  }
}

export function keyOf({
  deliveryId,
  createdAt,
  run,
  attempts,
}: Omit<OverdueAttempt, 'endpointId' | 'isUrgent'>): string {
  return keyOfMade(keyOfDelivery({ deliveryId, createdAtMs: createdAt.getTime() }), run, attempts);
}

export function keyOfDue({ delivery, run, attempt }: Pick<DueAttempt, 'delivery' | 'run' | 'attempt'>): string {
  return keyOfMade(keyOfDelivery(delivery), run, attempt - 1);
}

/** @param attempts the number of attempts before it */
export function keyOfMade(delivery: string, run: number, attempts: number): string {
  return `${delivery}/${run}/${attempts}`;
}

export function isBegun(share: PacedShare, key: string): boolean {
  return share.taken.has(key) || share.inOrder.has(key);
}

/** Forgets the attempts that had ended before this look began, and do not look due any more. */
export function forgetProjected(share: PacedShare, due: readonly OverdueAttempt[], look: number): void {
  const stillDue = new Set(due.map(keyOf));
  for (const [key, ended] of share.taken) {
    if (ended !== 'in flight' && ended < look && !stillDue.has(key)) forget(share, key);
  }
}

/** Forgets the attempts that were passed on before that moment, of an endpoint that had limits then: they wait for it. */
export function forgetPassedOn(share: PacedShare, beforeMs: number): void {
  for (const [key, atMs] of share.passedOn) if (atMs < beforeMs) forget(share, key);
}

function forget(share: PacedShare, key: string): void {
  share.taken.delete(key);
  share.passedOn.delete(key);
}
