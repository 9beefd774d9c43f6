import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
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

/** What is submitted. */
export interface LoadPlan {
  readonly requestEveryMs: number;
  readonly eventsPerRequest: number;
  /** The text of the n-th event's payload. */
  readonly dataJson: (n: number) => string;
}

/** The payload's spelling is one that a parser would not give back. */
const DEFAULT_PLAN: LoadPlan = {
  requestEveryMs: 100,
  eventsPerRequest: 3,
  dataJson: (n) => `{"id":"tkt_${n}", "n": ${n}.0,"big":12345678901234567890,"subject":"Where is parcel №${n}?"}`,
};

/** Requests that are not answered yet; beyond them the load waits, as producers do. */
const MOST_REQUESTS = 60;
const PATIENCE_MS = 8_000;
const TRY_AGAIN_MS = 250;
/** Each so manyeth request is sent again after its answer, as by a producer that did not get it. */
const REPEATED_REQUESTS = 8;
const EVENT_TYPES = ['ticket.created', 'ticket.updated'];

/** Submits events at a steady rate for as long as it runs, and each request until it is acknowledged. */
export class SteadyLoad {
  readonly #agent = new Agent({ connections: MOST_REQUESTS, pipelining: 1 });
  readonly #underWay = new Set<Promise<void>>();
  readonly #ending = new AbortController();
  #running: Promise<void> | null = null;
  #isOver = false;
  #made = 0;
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
      if (this.#underWay.size < MOST_REQUESTS) this.#submit();
      await delay(Math.max(0, began + turn * this.plan.requestEveryMs - performance.now()));
    }
  }

  #submit(): void {
    const events = Array.from({ length: this.plan.eventsPerRequest }, () => this.#anEvent());
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

  #anEvent(): SubmittedEvent {
    const n = ++this.#made;
    const { orgIds, widgetIds } = this.target;
    return {
      id: `evt_F${String(this.draw(1e9)).padStart(13, '0')}${String(n).padStart(12, '0')}`,
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
