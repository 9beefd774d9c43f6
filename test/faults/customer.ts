import { createHmac } from 'node:crypto';
import type { SubmittedEvent } from './ledger.js';
import { StallWatch } from './stall-watch.js';

/** What an endpoint of the customer subscribes to. */
export interface Subscription {
  readonly orgId: string;
  readonly events: readonly string[];
  readonly widgetIds: readonly string[] | null;
  /** The order in which it gets them; none if nothing is said. */
  readonly ordering?: Ordering;
}

/** An order that an endpoint asks for, and the most events that one push may have. */
export interface Ordering {
  readonly by: 'endpoint' | 'subject';
  readonly batch: number;
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
  /** Of its event, or the first one of a batch. */
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
  /** By the event's id, in the order in which they were first accepted. */
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
    const events = this.#isBatched ? envelopesOf(push.body) : [push.body];
    const ids = events.map(idOf);
    if (!this.#isSigned(push)) this.wrong.push(`${this.name} got ${ids.join()} with a wrong signature`);
    if (this.#refuses(ids[0] ?? '', push)) return 500;
    for (const [index, body] of events.entries()) this.#accept(ids[index] ?? '', body);
    return 200;
  }

  get #isBatched(): boolean {
    return (this.subscription.ordering?.batch ?? 1) > 1;
  }

  #accept(eventId: string, body: Buffer): void {
    const known = this.arrivals.get(eventId);
    if (known === undefined) {
      this.arrivals.set(eventId, { body, accepted: 1 });
      this.arrivedAt.set(eventId, performance.now());
      this.stalls.noticeNew();
      return;
    }
    known.accepted++;
    if (!known.body.equals(body)) this.wrong.push(`${this.name} got ${eventId} with two different bodies`);
  }

  /** By the event's id, so that a refused event is the same one whichever process makes the attempt. */
  #refuses(eventId: string, { attempt }: Push): boolean {
    return this.refusesFirstOf > 0 && attempt === 1 && Number(eventId.slice(-6)) % this.refusesFirstOf === 0;
  }

  #isSigned({ signature, body }: Push): boolean {
    const [, timestamp, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
    if (timestamp === undefined) return false;
    return digest === createHmac('sha256', this.secret).update(`${timestamp}.`).update(body).digest('hex');
  }
}

/** Returns the envelopes of a batch as they were sent. No payload of this suite looks like the beginning of one. */
function envelopesOf(body: Buffer): readonly Buffer[] {
  const [, list = ''] = /^\{"events":\[(.*)\]\}$/s.exec(body.toString()) ?? [];
  return list.split(/,(?=\{"id":"evt_)/).map((envelope) => Buffer.from(envelope));
}

function idOf(envelope: Buffer): string {
  return /^\{"id":"(evt_\w+)"/.exec(envelope.toString())?.[1] ?? 'what is no event';
}
