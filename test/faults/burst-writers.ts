import { Agent, request } from 'undici';
import type { Ledger, SubmittedEvent } from './ledger.js';

export interface BurstPlan {
  readonly writers: number;
  readonly eventsPerRequest: number;
  /** They end by themselves when so many are sent; never, if nothing is said. */
  readonly mostEvents?: number;
  readonly orgId: string;
  readonly apiUrl: string;
  readonly apiKey: string;
}

/** Longer than anything stays away here: a writer never gives up a request that may still be answered. */
const PATIENCE_MS = 60_000;

/** Writers that submit large requests to one organization, one after the other, each event in one request alone. */
export class BurstWriters {
  readonly #agent: Agent;
  readonly #ending = new AbortController();
  #running: Promise<void> | null = null;
  #isOver = false;
  #made = 0;

  constructor(
    private readonly plan: BurstPlan,
    private readonly ledger: Ledger,
    private readonly draw: (below: number) => number,
  ) {
    this.#agent = new Agent({ connections: plan.writers, pipelining: 1, headersTimeout: PATIENCE_MS });
  }

  start(): void {
    this.#running ??= Promise.all(Array.from({ length: this.plan.writers }, () => this.#write())).then(() => undefined);
  }

  /** Waits until as many events are sent as the plan says. */
  async untilAllSent(): Promise<void> {
    await this.#running;
  }

  /** Waits for the answers to what was sent. @returns how many events were sent */
  async finish(): Promise<number> {
    this.#isOver = true;
    await this.#running;
    await this.#agent.destroy();
    return this.#made;
  }

  async close(): Promise<void> {
    this.#ending.abort(new Error('the burst is over'));
    await this.finish();
  }

  async #write(): Promise<void> {
    while (!this.#isOver && this.#made < (this.plan.mostEvents ?? Infinity)) {
      const events = Array.from({ length: this.plan.eventsPerRequest }, () => this.#anEvent());
      this.ledger.submit(events);
      // Whatever the answer is: nothing is sent again.
      if ((await this.#post(events).catch(() => undefined)) === 202)
        this.ledger.acknowledge(events.map(({ id }) => id));
    }
  }

  #anEvent(): SubmittedEvent {
    const n = ++this.#made;
    const id = `evt_B${String(this.draw(1e9)).padStart(13, '0')}${String(n).padStart(12, '0')}`;
    return { id, orgId: this.plan.orgId, event: 'ticket.created', widgetId: null, dataJson: `{"n":${n}}` };
  }

  async #post(events: readonly SubmittedEvent[]): Promise<number> {
    const { apiUrl, apiKey, orgId } = this.plan;
    const items = events.map(({ id, event, dataJson }) => {
      return `{"id":"${id}","org_id":"${orgId}","event":"${event}","widget_id":null,"data":${dataJson}}`;
    });
    const answer = await request(`${apiUrl}/api/v1/internal/events`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: `{"events":[${items.join(',')}]}`,
      dispatcher: this.#agent,
      signal: this.#ending.signal,
    });
    await answer.body.dump();
    return answer.statusCode;
  }
}
