import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { conversationData } from '../support/conversations.js';
import type { Ledger, SubmittedEvent } from './ledger.js';

/** Who submits to whom. */
export interface LoadTarget {
  /** The base urls of the apis that are there at this moment. */
  readonly urls: () => readonly string[];
  readonly apiKey: string;
  readonly orgIds: readonly string[];
  /** Of each org's events some are of this widget, some of no widget, some of another one. */
  readonly widgetIds: readonly string[];
}

/** The events to submit. */
export interface LoadPlan {
  readonly requestEveryMs: number;
  readonly eventsPerRequest: number;
  /** The text of the n-th event's payload. */
  readonly dataJson: (n: number) => string;
  /** Every so manyeth request comes with a chat that is handed off; none if nothing is said. */
  readonly chatEveryRequests?: number;
}

/** Tickets that events are about: so few that some have several events that wait while a fault lasts. */
const TICKETS = 40;

/** The payload's spelling is one that a parser would not give back. */
const DEFAULT_PLAN: LoadPlan = {
  requestEveryMs: 100,
  eventsPerRequest: 3,
  dataJson: (n) =>
    `{"id":"tkt_${n % TICKETS}", "n": ${n}.0,"big":12345678901234567890,"subject":"Where is parcel №${n}?"}`,
  chatEveryRequests: 15,
};

/** Requests that are not answered yet; beyond them the load waits, as producers do. */
const MOST_REQUESTS = 60;
const PATIENCE_MS = 8_000;
const TRY_AGAIN_MS = 250;
/** Each so manyeth request is sent again after its answer, as by a producer that did not get it. */
const REPEATED_REQUESTS = 8;
/** Each so manyeth chat is answered at once, so nobody may be alerted. */
const ANSWERED_CHATS = 3;
const EVENT_TYPES = ['ticket.created', 'ticket.updated'];

/** Submits events at a steady rate for as long as it runs, and each request until it is acknowledged. */
export class SteadyLoad {
  readonly #agent = new Agent({ connections: MOST_REQUESTS, pipelining: 1 });
  readonly #underWay = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  #running: Promise<void> | null = null;
  #isOver = false;
  #made = 0;
  #chats = 0;
  /** Why the load had to give up: an answer that nobody may get. */
  #failure: Error | null = null;

  constructor(
    private readonly target: LoadTarget,
    private readonly ledger: Ledger,
    private readonly draw: (below: number) => number,
    private readonly plan: LoadPlan = DEFAULT_PLAN,
  ) {
    setMaxListeners(0, this.#ending.signal);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /**
   * Submits nothing new, and waits until what was submitted is acknowledged.
   * @param withinMs what is not acknowledged by then never will be
   * @throws when the service answered something else than 202, 429 or 503
   */
  async finish(withinMs: number): Promise<void> {
    this.#isOver = true;
    await this.#running;
    await Promise.race([Promise.all(this.#underWay), delay(withinMs, undefined, { ref: false })]);
    await this.close();
    if (this.#failure !== null) throw this.#failure;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#ending.abort(new Error('the load is over'));
    await Promise.all(this.#underWay);
    await this.#agent.destroy();
  }

  async #run(): Promise<void> {
    const began = performance.now();
    for (let turn = 1; !this.#isOver; turn++) {
      if (this.#underWay.size < MOST_REQUESTS) {
        this.#submit(Array.from({ length: this.plan.eventsPerRequest }, () => this.#anEvent()));
        if (turn % (this.plan.chatEveryRequests ?? Infinity) === 0) this.#submit(this.#aChat());
      }
      await delay(Math.max(0, began + turn * this.plan.requestEveryMs - performance.now()));
    }
  }

  #submit(events: readonly SubmittedEvent[]): void {
    this.ledger.submit(events);
    const isRepeated = this.#made % REPEATED_REQUESTS === 0;
    const submission = this.#untilAcknowledged(events)
      .then(() => (isRepeated ? this.#untilAcknowledged(events) : undefined))
      .catch((error: unknown) => {
        if (!this.#ending.signal.aborted) this.#failure ??= error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => this.#underWay.delete(submission));
    this.#underWay.add(submission);
  }

  /** The events of a chat, in one request: handed off, and mostly never answered. */
  #aChat(): readonly SubmittedEvent[] {
    const { orgIds } = this.target;
    const orgId = orgIds[this.draw(orgIds.length)] ?? '';
    const isAnswered = ++this.#chats % ANSWERED_CHATS === 0;
    const conversation = `cnv_F${String(this.draw(1e9)).padStart(9, '0')}${String(this.#chats).padStart(6, '0')}`;
    const happened = (event: string, data: object): SubmittedEvent => {
      const dataJson = JSON.stringify(data);
      return { id: this.#anId(++this.#made), orgId, event: `conversation.${event}`, widgetId: null, dataJson };
    };
    const handedOff = happened('handed_off', conversationData(conversation));
    const answer = {
      ...conversationData(conversation, { status: 'active' }),
      picked_up_by: { id: 'usr_1', name: 'Mara' },
    };
    const events = isAnswered ? [handedOff, happened('picked_up', answer)] : [handedOff];
    this.ledger.chats.set(conversation, { orgId, handedOff: handedOff.id, pickedUp: events[1]?.id ?? null });
    return events;
  }

  #anId(n: number): string {
    return `evt_F${String(this.draw(1e9)).padStart(13, '0')}${String(n).padStart(12, '0')}`;
  }

  #anEvent(): SubmittedEvent {
    const n = ++this.#made;
    const { orgIds, widgetIds } = this.target;
    return {
      id: this.#anId(n),
      orgId: orgIds[this.draw(orgIds.length)] ?? '',
      event: EVENT_TYPES[this.draw(EVENT_TYPES.length)] ?? '',
      widgetId: [null, ...widgetIds][this.draw(widgetIds.length + 1)] ?? null,
      dataJson: this.plan.dataJson(n),
    };
  }

  async #untilAcknowledged(events: readonly SubmittedEvent[]): Promise<void> {
    const ids = events.map(({ id }) => id);
    const body = `{"events":[${events.map(submissionJson).join(',')}]}`;
    for (;;) {
      const status = await this.#post(body).catch(() => 'unreachable' as const);
      if (status === 202) {
        this.ledger.acknowledge(ids);
        return;
      }
      this.#ending.signal.throwIfAborted();
      // Away, not ready or busy: the same ids are sent again.
      if (status !== 'unreachable' && status !== 503 && status !== 429) {
        throw new Error(`the api answered ${status} to events that are valid`);
      }
      await delay(TRY_AGAIN_MS, undefined, { signal: this.#ending.signal });
    }
  }

  async #post(body: string): Promise<number> {
    const urls = this.target.urls();
    const url = urls[this.draw(urls.length)];
    if (url === undefined) throw new Error('there is no api');
    const answer = await request(`${url}/api/v1/internal/events`, {
      method: 'POST',
      headers: { 'x-api-key': this.target.apiKey, 'content-type': 'application/json' },
      body,
      dispatcher: this.#agent,
      signal: AbortSignal.any([this.#ending.signal, AbortSignal.timeout(PATIENCE_MS)]),
    });
    await answer.body.dump();
    return answer.statusCode;
  }
}

function submissionJson({ id, orgId, event, widgetId, dataJson }: SubmittedEvent): string {
  return `{"id":"${id}","org_id":"${orgId}","event":"${event}","widget_id":${widgetId === null ? 'null' : `"${widgetId}"`},"data":${dataJson}}`;
}
