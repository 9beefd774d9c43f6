import type { EndpointId, EventId, OrgId } from '#libs/domain';

/** An event that somebody submitted. */
export interface Submitted {
  readonly id: EventId;
  readonly orgId: OrgId;
  readonly event: string;
  readonly dataJson: string;
  /** When it was first answered for: by a 202, or by the brokers to who produces to the inbox. */
  acceptedAtMs: number | null;
}

/** An answer of a customer's endpoint. */
export interface Receipt {
  readonly eventId: EventId;
  readonly body: Buffer;
  readonly atMs: number;
  readonly succeeded: boolean;
}

export interface LedgerEndpoint {
  readonly id: EndpointId;
  readonly orgId: OrgId;
  readonly events: readonly string[];
  readonly createdAtMs: number;
  /** The org's latest event in the feed when it was created: it is owed what follows. */
  readonly createdAfterSeq: number;
  /** From when to when it was inactive; open while it is. */
  readonly inactive: { readonly fromMs: number; toMs: number }[];
  readonly receipts: Receipt[];
}

/** What was promised to whom, and what they got. */
export class Ledger {
  readonly submitted = new Map<EventId, Submitted>();
  readonly endpoints = new Map<EndpointId, LedgerEndpoint>();
  /** What went against a promise while it happened. */
  readonly breaches: string[] = [];
  /** Requests and produced batches that nobody has answered yet. */
  open = 0;

  submit(event: Omit<Submitted, 'acceptedAtMs'>): void {
    if (!this.submitted.has(event.id)) this.submitted.set(event.id, { ...event, acceptedAtMs: null });
  }

  accept(id: EventId, atMs: number): void {
    const event = this.submitted.get(id);
    if (event !== undefined) event.acceptedAtMs ??= atMs;
  }

  get acceptedEvents(): readonly Submitted[] {
    return [...this.submitted.values()].filter(({ acceptedAtMs }) => acceptedAtMs !== null);
  }
}
