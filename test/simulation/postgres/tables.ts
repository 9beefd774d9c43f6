import type {
  AlertStage,
  ConversationId,
  DeliveryId,
  DeliveryRef,
  DeliverySettings,
  EndpointId,
  EventId,
  OrgId,
  WidgetId,
} from '#libs/domain';

/** Undoes what a transaction has done. */
export type Undo = () => void;

/** A table whose changes can be undone: `Map` is all that is needed of an index here. */
export class Table<Value> {
  readonly #rows = new Map<string, Value>();

  constructor(private readonly undo: { log: Undo[] | null }) {}

  get(key: string): Value | undefined {
    return this.#rows.get(key);
  }

  set(key: string, value: Value): void {
    const before = this.#rows.get(key);
    this.undo.log?.push(() => {
      if (before === undefined) this.#rows.delete(key);
      else this.#rows.set(key, before);
    });
    this.#rows.set(key, value);
  }

  delete(key: string): boolean {
    const before = this.#rows.get(key);
    if (before === undefined) return false;
    this.undo.log?.push(() => {
      this.#rows.set(key, before);
    });
    return this.#rows.delete(key);
  }

  values(): readonly Value[] {
    return [...this.#rows.values()];
  }

  get size(): number {
    return this.#rows.size;
  }
}

export interface EndpointRow {
  readonly id: EndpointId;
  readonly org_id: OrgId;
  readonly url: string;
  readonly events: readonly string[];
  readonly filter: string | null;
  readonly is_active: boolean;
  readonly activation: number;
  readonly delivery_settings: Partial<DeliverySettings> | null;
  readonly is_paced: boolean;
  readonly ordered_since: Date | null;
  readonly order_begun: Date | null;
  readonly created_at_ms: number;
  /** The org's latest event in the feed when it was created. */
  readonly receives_after_seq: number;
  readonly receives_from_offset: number | null;
}

/** What an attempt needs of its endpoint, as it is selected. */
export function targetOf(endpoint: EndpointRow | undefined) {
  return {
    url: endpoint?.url ?? null,
    secret_ciphertext: Buffer.from('whsec_simulated'),
    previous_secret_ciphertext: null,
    activation: endpoint?.activation ?? null,
    delivery_settings: endpoint?.delivery_settings ?? null,
    custom_headers_ciphertext: null,
  };
}

export interface InactivePeriodRow {
  readonly endpoint_id: EndpointId;
  readonly activation: number;
  readonly began_after_seq: number;
  readonly began_offset: number | null;
  /** These are `null` while the endpoint is inactive. */
  readonly ended_after_seq: number | null;
  readonly ended_offset: number | null;
  readonly ended_ms: number | null;
}

/** How far a partition of the log was routed. */
export interface RouterPlaceRow {
  readonly next_offset: number;
  readonly appended_until_ms: number;
}

/** Which assignment makes the attempts of paced endpoints in a partition. */
export interface PacedOwnerRow {
  readonly owner: string;
  readonly has_left: boolean;
}

export interface EventRow {
  readonly org_id: OrgId;
  readonly seq: number;
  readonly event_id: EventId;
  readonly event_type: string;
  readonly appended_at_ms: number;
  readonly envelope: Buffer;
}

export interface DeliveryRow {
  readonly ref: DeliveryRef;
  /** How often all that was pending of its endpoint had ended when it was written. */
  readonly endings: number;
  readonly run: number;
  readonly status: string;
  readonly attempts: number;
  readonly response_status: number | null;
  readonly last_error: string | null;
  readonly next_attempt_at_ms: number | null;
  readonly delivered_at_ms: number | null;
}

export interface WaitingRow {
  readonly org_id: OrgId;
  readonly conversation_id: ConversationId;
  readonly entry_id: EventId;
  readonly log_partition: number;
  readonly seq: number;
  readonly waiting_since_ms: number;
  readonly stage: AlertStage;
  readonly first_due_ms: number;
  readonly second_due_ms: number;
  readonly widget_id: WidgetId | null;
  readonly snapshot: string;
}

export interface QueueRow {
  readonly org_id: OrgId;
  readonly waiting: number;
  readonly last_seq: number;
  readonly first_alert_seconds: number;
  readonly second_alert_seconds: number;
}

export interface AlertRow {
  readonly org_id: OrgId;
  readonly event_id: EventId;
  readonly conversation_id: ConversationId;
  readonly entry_id: EventId;
  readonly stage: 1 | 2;
  readonly widget_id: WidgetId | null;
  readonly log_partition: number;
  readonly raised_at_ms: number;
  readonly data: string;
  readonly tells_staff: boolean;
  readonly is_logged: boolean;
  readonly published_at_ms: number | null;
  readonly cleared: boolean;
}

/** What a projection keeps of its place, with all columns that the statements name. */
export type OffsetRow = Readonly<Record<string, unknown>> & { readonly next_offset: number };

/** Everything that is in Postgres. */
export class Tables {
  readonly #undo: { log: Undo[] | null } = { log: null };
  readonly endpoints = new Table<EndpointRow>(this.#undo);
  readonly inactivePeriods = new Table<InactivePeriodRow>(this.#undo);
  readonly events = new Table<EventRow>(this.#undo);
  readonly eventIds = new Table<EventRow>(this.#undo);
  readonly orgHeads = new Table<number>(this.#undo);
  readonly offsets = new Table<OffsetRow>(this.#undo);
  readonly deliveries = new Table<DeliveryRow>(this.#undo);
  readonly attempts = new Table<DeliveryId>(this.#undo);
  readonly health = new Table<Readonly<Record<string, unknown>>>(this.#undo);
  readonly endings = new Table<number>(this.#undo);
  readonly routerPlaces = new Table<RouterPlaceRow>(this.#undo);
  readonly pacedOwners = new Table<PacedOwnerRow>(this.#undo);
  readonly queues = new Table<QueueRow>(this.#undo);
  readonly waiting = new Table<WaitingRow>(this.#undo);
  readonly alerts = new Table<AlertRow>(this.#undo);

  /** Is called for each endpoint that is created, and for each that failed too often; for some more than once. */
  onEndpoint: (row: EndpointRow) => void = () => undefined;
  onAutoDisabled: (id: EndpointId) => void = () => undefined;

  /** The status of a delivery as everyone has to see it. */
  statusOf({ ref, status, endings }: DeliveryRow): string {
    return status === 'pending' && endings < (this.endings.get(ref.endpointId) ?? 0) ? 'failed' : status;
  }

  /** Notes how to undo what `act` does. */
  recording<T>(log: Undo[], act: () => T): T {
    this.#undo.log = log;
    try {
      return act();
    } finally {
      this.#undo.log = null;
    }
  }

  undo(log: Undo[]): void {
    for (const undo of log.splice(0).reverse()) undo();
  }
}
