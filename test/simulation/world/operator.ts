import { setTimeout as delay } from 'node:timers/promises';
import { GaplessError, NO_ORDERING, type Ordering, type OrgId } from '#libs/domain';
import type { Random } from '../engine/random.js';
import type { Trace } from '../engine/trace.js';
import { Actor, type VirtualTime } from '../engine/virtual-time.js';
import { TICKET_TYPES } from './event-source.js';
import type { Ledger, LedgerEndpoint, Pace, SeqFilter } from './ledger.js';
import type { SimulatedProcess } from './simulated-process.js';

export interface OperatorDependencies {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly trace: Trace;
  readonly ledger: Ledger;
  /** The processes that answer HTTP just now. */
  readonly apis: () => readonly SimulatedProcess[];
  /** Where the org's partition of the log ends in truth. */
  readonly logEnd: (orgId: OrgId) => number;
  /** How far the router has come in the org's partition: what it has committed, and what it was ever handed over. */
  readonly routed: (orgId: OrgId) => { readonly committed: number; readonly handedOver: number };
}

const NO_PACE: Pace = { maxPerSecond: null, maxInFlight: null };

/** One endpoint of a customer, as its operator sees it: each request is made until it is answered. */
export class Operator {
  readonly #actor: Actor;
  #endpoint: LedgerEndpoint | null = null;
  /** Requests run one after the other. */
  #asked: Promise<unknown> = Promise.resolve();
  #requests = 0;
  #isSwitched = false;

  /** @param name a part of the endpoint's url */
  constructor(
    readonly name: string,
    private readonly orgId: OrgId,
    private readonly use: OperatorDependencies,
    private readonly pace: Pace = NO_PACE,
    private readonly filter: SeqFilter | null = null,
    private readonly ordering: Ordering = NO_ORDERING,
    /** Whether the endpoint is ordered from its beginning. */
    private readonly isOrderedFromStart = true,
    private readonly urgent: readonly string[] | null = null,
    private readonly hasChain = false,
  ) {
    this.#actor = new Actor(`operator ${name}`);
  }

  create(atMs: number): void {
    this.#at(atMs, () => this.#create());
  }

  /** Orders an endpoint that was not ordered from its beginning. */
  order(atMs: number): void {
    this.#at(atMs, () => this.#order());
  }

  /**
   * Once only: a request whose answer was lost may be carried out late, and nobody knows what the endpoint is then.
   * @param untilMs `null` to leave it inactive
   */
  disable(atMs: number, untilMs: number | null): void {
    if (this.#isSwitched) return;
    this.#isSwitched = true;
    this.#at(atMs, () => this.#disable());
    if (untilMs !== null) this.#at(untilMs, () => this.#enable());
  }

  #at(atMs: number, act: () => Promise<void>): void {
    const { time, ledger } = this.use;
    ledger.open++;
    time.schedule(atMs - time.nowMs, this.#actor, () => {
      this.#asked = this.#asked.then(act).finally(() => {
        ledger.open--;
      });
    });
  }

  async #create(): Promise<void> {
    const { ledger, logEnd } = this.use;
    const id = await this.#untilAnswered((api) => {
      // Another endpoint each time: an operator that gets no answer does not know whether there is one.
      const url = `https://${this.name}-${++this.#requests}.example.com/`;
      const { maxPerSecond, maxInFlight } = this.pace;
      ledger.asked.set(url, {
        mood: this.name,
        createdFrom: logEnd(this.orgId),
        pace: this.pace,
        filter: this.filter,
        hasChain: this.hasChain,
        ordering: this.ordering,
        orderedFrom: this.isOrderedFromStart ? 0 : Infinity,
      });
      const pace = { max_per_second: maxPerSecond, max_in_flight: maxInFlight };
      const order = this.isOrderedFromStart ? { ordering: this.ordering } : {};
      return api.createEndpoint(this.orgId, {
        url,
        events: TICKET_TYPES,
        ...pace,
        ...order,
        filter: this.filter?.text ?? null,
        urgent: this.urgent,
        previous_sequence: this.hasChain,
      });
    });
    this.#endpoint = ledger.endpoints.get(id) ?? null;
    if (this.#endpoint !== null) this.#endpoint.owedFrom = logEnd(this.orgId);
  }

  async #order(): Promise<void> {
    const endpoint = this.#endpoint;
    if (endpoint === null) return;
    await this.#untilAnswered((api) => api.orderEndpoint(this.orgId, endpoint.id, this.ordering));
    endpoint.orderedFrom = this.use.logEnd(this.orgId);
  }

  async #disable(): Promise<void> {
    const endpoint = this.#endpoint;
    if (endpoint === null) return;
    const { logEnd, routed } = this.use;
    const period = {
      askedAt: logEnd(this.orgId),
      routedTo: routed(this.orgId).committed,
      began: Infinity,
      ended: Infinity,
      owed: null,
    };
    endpoint.inactive.push(period);
    await this.#untilAnswered((api) => api.switchEndpoint(this.orgId, endpoint.id, false));
    period.began = logEnd(this.orgId);
  }

  async #enable(): Promise<void> {
    const endpoint = this.#endpoint;
    if (endpoint === null) return;
    const { logEnd, routed } = this.use;
    const periods = endpoint.inactive.filter(({ owed }) => owed === null);
    for (const period of periods) period.ended = logEnd(this.orgId);
    await this.#untilAnswered((api) => api.switchEndpoint(this.orgId, endpoint.id, true));
    const owed = { from: logEnd(this.orgId), handedOver: routed(this.orgId).handedOver };
    for (const period of periods) period.owed = owed;
  }

  async #untilAnswered<T>(ask: (api: SimulatedProcess) => Promise<T>): Promise<T> {
    const { random, trace, ledger } = this.use;
    for (;;) {
      const apis = this.use.apis();
      try {
        if (apis.length === 0) throw new Error('no api answers');
        const answer = await ask(random.pick(apis));
        trace.note('is answered');
        return answer;
      } catch (error) {
        if (error instanceof GaplessError && error.code !== 'unavailable') {
          ledger.breaches.push(`the api refused an operator: ${error.message}`);
          throw error;
        }
        trace.note(`is not answered: ${error instanceof Error ? error.message : String(error)}`);
        await delay(random.between(50, 1_000));
      }
    }
  }
}
