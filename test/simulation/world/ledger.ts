import type { DeliverySettings, EndpointId, EventId, OrgId } from '#libs/domain';
import type { KeptRecord } from '../kafka/partition-log.js';
import { TICKET_TYPES } from './event-source.js';

/** An event that somebody submitted. */
export interface Submitted {
  readonly id: EventId;
  readonly orgId: OrgId;
  readonly event: string;
  readonly dataJson: string;
  /** When it was first answered for: by a 202, or by the brokers to a producer to the inbox. */
  acceptedAtMs: number | null;
}

/** An answer of a customer's endpoint. */
export interface Receipt {
  readonly eventId: EventId;
  readonly body: Buffer;
  readonly atMs: number;
  readonly succeeded: boolean;
  /** Its place in the request, from 0. */
  readonly place: number;
  /** The event before it, as the request says; missing if it says nothing. */
  readonly previous?: number;
}

/** A time in which an endpoint was inactive, in offsets of its org's partition of the log. */
export interface InactiveTime {
  /** The end of the log when the operator asked to disable the endpoint. */
  readonly askedAt: number;
  /** The router's committed offset at that moment: what comes before it was routed while the endpoint was active. */
  readonly routedTo: number;
  /** The end of the log when the operator had the answer. */
  began: number;
  /** The end of the log when the operator asked to enable the endpoint again. */
  ended: number;
  /**
   * Set when the operator has that answer. The endpoint is owed the events at `from` and later. The router had read the
   * log up to `handedOver` by then, so it sees the endpoint active from there on.
   */
  owed: { readonly from: number; readonly handedOver: number } | null;
}

/** The limits of an endpoint, as its operator has set them. */
export type Pace = Pick<DeliverySettings, 'maxPerSecond' | 'maxInFlight'>;

/** A filter of seqs, and which of them it keeps by other means. */
export interface SeqFilter {
  readonly text: string;
  readonly keeps: (seq: number) => boolean;
}

export interface LedgerEndpoint {
  readonly id: EndpointId;
  readonly orgId: OrgId;
  readonly events: readonly string[];
  /** Whose mood it has. */
  readonly mood: string;
  /** Where the log ended when it was asked for: nothing before is for it. */
  readonly createdFrom: number;
  /** Where it ended when the operator had the answer: it is owed what follows. `null` without an answer. */
  owedFrom: number | null;
  readonly inactive: InactiveTime[];
  readonly receipts: Receipt[];
  readonly pace: Pace;
  readonly filter: SeqFilter | null;
  /** Whether it asks for the event before each one. */
  readonly hasChain: boolean;
  /** The order that it asked for, and where the log ended when that was certain; `Infinity` until then. */
  readonly ordering: DeliverySettings['ordering'];
  orderedFrom: number;
  /** For each attempt that is in flight, whether its process is alive. */
  readonly inFlight: Set<() => boolean>;
}

/** What became of a partition that lost records. */
export interface WentBack {
  readonly removed: readonly KeptRecord[];
  /** Where it ended then. */
  readonly end: number;
  /** How far Postgres had read it. */
  readonly projected: number;
}

/** What was promised to whom, and what they got. */
export class Ledger {
  readonly submitted = new Map<EventId, Submitted>();
  readonly endpoints = new Map<EndpointId, LedgerEndpoint>();
  readonly endpointsByUrl = new Map<string, LedgerEndpoint>();
  /** The endpoints that were asked for, by their urls. */
  readonly asked = new Map<
    string,
    Pick<LedgerEndpoint, 'mood' | 'createdFrom' | 'pace' | 'filter' | 'hasChain' | 'ordering' | 'orderedFrom'>
  >();
  /** What went against a promise while it happened. */
  readonly breaches: string[] = [];
  /** The partitions that lost records, as `topic/partition`. */
  readonly wentBack = new Map<string, WentBack>();
  /** Whether the clock of a process was set. */
  clocksWereSet = false;
  /** Requests and produced batches that nobody has answered yet. */
  open = 0;

  submit(event: Omit<Submitted, 'acceptedAtMs'>): void {
    if (!this.submitted.has(event.id)) this.submitted.set(event.id, { ...event, acceptedAtMs: null });
  }

  /** Notes an endpoint that is in Postgres, or is about to be. */
  created(endpoint: { readonly id: EndpointId; readonly orgId: OrgId; readonly url: string }): void {
    const { id, orgId, url } = endpoint;
    const asked = this.asked.get(url);
    if (asked === undefined || this.endpoints.has(id)) return;
    const events = [...TICKET_TYPES];
    const none = { owedFrom: null, inactive: [], receipts: [], inFlight: new Set<() => boolean>() };
    const created: LedgerEndpoint = { id, orgId, events, ...asked, ...none };
    this.endpoints.set(id, created);
    this.endpointsByUrl.set(url, created);
  }

  /** Of what came before an endpoint has failed too often, nothing is owed to it: when exactly that was, nobody knows. */
  autoDisabled(id: EndpointId): void {
    this.endpoints.get(id)?.inactive.push({ askedAt: 0, routedTo: 0, began: Infinity, ended: Infinity, owed: null });
  }

  accept(id: EventId, atMs: number): void {
    const event = this.submitted.get(id);
    if (event !== undefined) event.acceptedAtMs ??= atMs;
  }

  get acceptedEvents(): readonly Submitted[] {
    return [...this.submitted.values()].filter(({ acceptedAtMs }) => acceptedAtMs !== null);
  }
}
