import { createHmac } from 'node:crypto';
import type { SubmittedEvent } from './ledger.js';
import { StallWatch } from './stall-watch.js';

/** What an endpoint of the customer subscribes to. */
export interface Subscription {
  readonly orgId: string;
  readonly events: readonly string[];
  readonly widgetIds: readonly string[] | null;
}

/** An event as an endpoint got it. */
export interface Arrival {
  /** Of the first push; every other one has to be equal to it. */
  readonly body: Buffer;
  /** How often it was pushed and accepted; more than once is allowed, and counted. */
  accepted: number;
}

/** Whether an endpoint has to be pushed an event, by the words of contract 7.3. */
export function isFor(subscription: Subscription, event: SubmittedEvent): boolean {
  const { orgId, events, widgetIds } = subscription;
  return (
    event.orgId === orgId &&
    events.includes(event.event) &&
    (event.widgetId === null || widgetIds === null || widgetIds.includes(event.widgetId))
  );
}

/** One push, as it came in. */
export interface Push {
  readonly eventId: string;
  readonly attempt: number;
  readonly signature: string;
  readonly body: Buffer;
}

/** When an endpoint came into being, in epoch milliseconds: between the request and the answer. */
export interface Registration {
  readonly afterMs: number;
  readonly beforeMs: number;
}

/** An endpoint as its owner sees it: what came, and whether it was what had been signed. */
export class CustomerEndpoint {
  readonly arrivals = new Map<string, Arrival>();
  /** When each of them was first accepted, on the monotonic clock. */
  readonly arrivedAt = new Map<string, number>();
  /** Pushes whose signature or bytes were wrong, in words. */
  readonly wrong: string[] = [];
  readonly stalls = new StallWatch();
  secret = '';

  /** When it was registered; `null` if that was before anything was submitted. */
  registered: Registration | null = null;

  /**
   * @param refusesFirstOf every how many events the first attempt is answered 500; 0 for none
   * @param answersAfterMs how long each push waits for its answer
   */
  constructor(
    readonly name: string,
    readonly subscription: Subscription,
    private readonly refusesFirstOf: number,
    readonly answersAfterMs = 0,
  ) {}

  /** @returns the status to answer */
  receive(push: Push): number {
    if (!this.#isSigned(push)) this.wrong.push(`${this.name} got ${push.eventId} with a wrong signature`);
    if (this.#refuses(push)) return 500;
    const known = this.arrivals.get(push.eventId);
    if (known === undefined) {
      this.arrivals.set(push.eventId, { body: push.body, accepted: 1 });
      this.arrivedAt.set(push.eventId, performance.now());
      this.stalls.noticeNew();
      return 200;
    }
    known.accepted++;
    if (!known.body.equals(push.body)) this.wrong.push(`${this.name} got ${push.eventId} with two different bodies`);
    return 200;
  }

  /** By the event's id, so that a refused event is the same one whichever process makes the attempt. */
  #refuses({ eventId, attempt }: Push): boolean {
    return this.refusesFirstOf > 0 && attempt === 1 && Number(eventId.slice(-6)) % this.refusesFirstOf === 0;
  }

  #isSigned({ signature, body }: Push): boolean {
    const [, timestamp, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
    if (timestamp === undefined) return false;
    return digest === createHmac('sha256', this.secret).update(`${timestamp}.`).update(body).digest('hex');
  }
}
