import type { DeliveryId, DeliveryStatus, EndpointId, OrgId, Subscriber, WidgetId } from '#libs/domain';
import type { SecretCipher } from './secret-cipher.js';
import type { Store } from './store.js';

/** Where to and with what a delivery is pushed, as it is at this moment. */
export interface DispatchTarget {
  readonly id: EndpointId;
  readonly url: string;
  readonly secret: string;
  readonly isActive: boolean;
  readonly activation: number;
}

/** How far a delivery is, as far as its facts are projected. */
export interface DeliveryProgress {
  readonly run: number;
  readonly attempts: number;
  readonly status: DeliveryStatus;
}

/** What the router and the dispatcher have to know of endpoints, for many at a time. */
export class EndpointDirectory {
  /** Deciphering is cheap, but not as cheap as this; a ciphertext never changes its meaning. */
  readonly #deciphered = new Map<string, string>();

  constructor(
    private readonly store: Store,
    private readonly cipher: SecretCipher,
  ) {}

  /** The active endpoints of each org. */
  async subscribersOf(orgIds: readonly OrgId[]): Promise<ReadonlyMap<OrgId, readonly Subscriber[]>> {
    const rows = await this.store.query<{
      id: EndpointId;
      org_id: OrgId;
      events: string[];
      widget_ids: WidgetId[] | null;
    }>(
      `select id, org_id, events, widget_ids from endpoints
       where org_id = any($1) and is_active order by org_id, created_at, id`,
      [orgIds],
    );
    const byOrg = new Map<OrgId, Subscriber[]>();
    for (const row of rows) {
      const subscribers = byOrg.get(row.org_id) ?? [];
      subscribers.push({ id: row.id, isActive: true, events: row.events, widgetIds: row.widget_ids });
      byOrg.set(row.org_id, subscribers);
    }
    return byOrg;
  }

  /** The endpoints as they are now; one that is deleted is missing. */
  async targets(ids: readonly EndpointId[]): Promise<ReadonlyMap<EndpointId, DispatchTarget>> {
    const rows = await this.store.query<{
      id: EndpointId;
      url: string;
      secret_ciphertext: Buffer;
      is_active: boolean;
      activation: number;
    }>('select id, url, secret_ciphertext, is_active, activation from endpoints where id = any($1)', [ids]);
    return new Map(
      rows.map((row) => [
        row.id,
        {
          id: row.id,
          url: row.url,
          secret: this.#secret(row.secret_ciphertext),
          isActive: row.is_active,
          activation: row.activation,
        },
      ]),
    );
  }

  /** How far the deliveries are; one of which no fact is projected yet is missing. */
  async progressOf(ids: readonly DeliveryId[]): Promise<ReadonlyMap<DeliveryId, DeliveryProgress>> {
    const rows = await this.store.query<{ id: DeliveryId } & DeliveryProgress>(
      'select id, run, attempts, status from deliveries where id = any($1)',
      [ids],
    );
    return new Map(rows.map((row) => [row.id, { run: row.run, attempts: row.attempts, status: row.status }]));
  }

  #secret(ciphertext: Buffer): string {
    const key = ciphertext.toString('latin1');
    let secret = this.#deciphered.get(key);
    if (secret === undefined) {
      secret = this.cipher.decrypt(ciphertext);
      if (this.#deciphered.size >= DECIPHERED_LIMIT) this.#deciphered.clear();
      this.#deciphered.set(key, secret);
    }
    return secret;
  }
}

const DECIPHERED_LIMIT = 10_000;
