import type { KeyObject } from 'node:crypto';
import {
  EventCursors,
  sentHeaders,
  seqFromText,
  type CustomHeaders,
  type DeliverySettings,
  type DeliveryStatus,
  type DueAttempt,
  type EndpointId,
  type InactivePeriod,
  type LoggedPlace,
  type OrgId,
  type ReceivingTimes,
  type Seq,
  type Subscriber,
  type Target,
  type WidgetId,
} from '#libs/domain';
import { DecipheredSecrets } from '../access/deciphered-secrets.js';
import { EVENT_CURSOR_KEYS, type SecretCipher } from '../access/secret-cipher.js';
import { SigningKeys } from '../access/signing-keys.js';
import { IS_ENDED } from '../projections/seen-deliveries.js';
import { isPostgresAway } from '../connection/postgres-away.js';
import type { Store } from '../connection/store.js';
import type { EndpointKind } from '../entities/endpoint.entity.js';
import { IS_IN_FORCE } from '../mcp/in-force.js';

/** An endpoint that events are routed to. */
export type RoutedSubscriber = Subscriber &
  ReceivingTimes & {
    readonly isPaced: boolean;
    /** Whether its deliveries have lanes. */
    readonly isOrdered: boolean;
    /** The delivery settings that differ from the defaults; missing if none does. */
    readonly settings?: Partial<DeliverySettings>;
    /** Returns where to push, as it was read; `undefined` if that has to be looked up for each attempt. */
    readonly target: () => Target | undefined;
  };

interface InactiveRow {
  /** `null` if only the offset is known. */
  readonly beganAfterSeq: Seq | null;
  readonly beganOffset: number | null;
  readonly endedAfterSeq: Seq;
  readonly endedOffset: number | null;
  readonly endedMs: number;
}

/** The decision about a due attempt. */
export type DispatchLookupResult =
  | {
      readonly kind: 'target';
      readonly target: Target;
      /** The seq of its first follower that is superseded; missing if none is. */
      readonly endsBefore?: Seq;
    }
  | { readonly kind: 'inactive' }
  /** The endpoint is deleted. */
  | { readonly kind: 'gone' }
  /** The attempt was made already, or its run is over: it was replayed, ended or delivered. */
  | { readonly kind: 'superseded' };

/** What an endpoint is pushed to with cannot be read: it is encrypted with a key that is missing, or was changed. */
export interface UnreadableTarget {
  readonly kind: 'unreadable';
  readonly error: unknown;
}

/** What an attempt needs of its endpoint. */
interface TargetRow {
  readonly url: string;
  readonly secret_ciphertext: Buffer;
  readonly previous_secret_ciphertext: Buffer | null;
  readonly activation: number;
  readonly delivery_settings: Partial<DeliverySettings> | null;
  readonly custom_headers_ciphertext: Buffer | null;
}

/**
 * Selects a `TargetRow` from the endpoints `e`.
 * @param readsHeaders SQL for whether the row has the custom headers. With a client certificate they have up to 26 KiB,
 *   and twice as many on the wire.
 */
function targetColumns(readsHeaders: string): string {
  return `e.url, e.secret_ciphertext, e.activation, e.delivery_settings,
    case when ${readsHeaders} then e.custom_headers_ciphertext end as custom_headers_ciphertext,
    case when e.previous_secret_until > now() then e.previous_secret_ciphertext end as previous_secret_ciphertext`;
}

/** Bytes. Longer ones are looked up for each attempt. A router would read those of all endpoints with each batch. */
const MAX_HEADERS_READ = 1_024;

const HAS_LONG_HEADERS = `coalesce(octet_length(e.custom_headers_ciphertext) > ${MAX_HEADERS_READ}, false)`;

/** An endpoint and a delivery to it. The url is `null` if the endpoint is deleted, and for a follower. */
type DispatchRow = DeliveryRow & (EndpointRow | { readonly url: null });

interface EndpointRow extends TargetRow {
  readonly is_active: boolean;
  /** `null` unless the endpoint is an MCP subscription, as the next three. */
  readonly subscription_id: string | null;
  readonly org_id: OrgId;
  readonly watermark_seq: string;
  readonly is_in_force: boolean;
}

interface DeliveryRow {
  readonly run: number | null;
  readonly attempts: number;
  readonly status: DeliveryStatus;
  /** Whether the delivery ended with its endpoint. */
  readonly is_ended: boolean;
}

function isSuperseded(due: Pick<DueAttempt, 'run' | 'attempt'>, row: DeliveryRow): boolean {
  // Facts reach Postgres a moment after they happen. A delivery that is not stored yet cannot be over.
  if (row.run === null || row.run < due.run) return false;
  return row.run > due.run || row.attempts >= due.attempt || row.status !== 'pending' || row.is_ended;
}

/**
 * The latest periods of an endpoint that are read. An endpoint that was enabled more often since the events came, while
 * the router lagged, gets events from before these periods.
 */
const PERIODS_READ = 1_000;

/** Looks up many endpoints at a time, for the router and the dispatcher. */
export class EndpointDirectory {
  readonly #deciphered: DecipheredSecrets;
  readonly #signingKeys: SigningKeys;
  /** Made with the first subscription of an agent; the router needs none. */
  #cursors: EventCursors | undefined;

  constructor(
    private readonly store: Store,
    private readonly cipher: SecretCipher,
  ) {
    this.#deciphered = new DecipheredSecrets(cipher);
    this.#signingKeys = new SigningKeys(store, cipher);
  }

  /**
   * Returns the active endpoints of each org, with the times in which they receive.
   * @param from each org's first event to route; periods that ended before it are left out, and all before the latest
   *   1,000
   */
  async subscribersOf(
    from: ReadonlyMap<OrgId, Pick<LoggedPlace, 'seq' | 'offset'>>,
  ): Promise<ReadonlyMap<OrgId, readonly RoutedSubscriber[]>> {
    const rows = await this.store.prepared<
      TargetRow & {
        id: EndpointId;
        org_id: OrgId;
        kind: EndpointKind;
        events: string[];
        widget_ids: WidgetId[] | null;
        filter: string | null;
        receives_after_seq: string;
        receives_from_offset: string | null;
        created_ms: string;
        is_paced: boolean;
        is_ordered: boolean;
        has_long_headers: boolean;
        inactive: InactiveRow[] | null;
      }
    >(
      'subscribers',
      `select e.id, e.org_id, e.kind, e.events, e.widget_ids, e.filter, e.receives_after_seq, e.receives_from_offset,
         (extract(epoch from e.created_at) * 1000)::bigint as created_ms, e.is_paced, e.ordered_since is not null as is_ordered,
         ${HAS_LONG_HEADERS} as has_long_headers, ${targetColumns(`not ${HAS_LONG_HEADERS}`)}, p.inactive
       from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as asked(org_id, from_seq, from_offset)
       join endpoints e on e.org_id = asked.org_id
       left join lateral (
         select json_agg(json_build_object('beganAfterSeq', began_after_seq, 'beganOffset', began_offset,
           'endedAfterSeq', ended_after_seq, 'endedOffset', ended_offset,
           'endedMs', (extract(epoch from ended_at) * 1000)::bigint)) as inactive
         from endpoint_inactive_periods
         -- Most endpoints have never been inactive: for them, nothing is looked up. Of others, only what follows the last
         -- period from before the events is read. Each period ends at a later place than those before it.
         where e.activation > 1 and endpoint_id = e.id and activation > coalesce((
             select activation from endpoint_inactive_periods
             where endpoint_id = e.id and activation >= e.activation - ${PERIODS_READ}
               and ended_after_seq < asked.from_seq and coalesce(ended_offset, 0) <= asked.from_offset
             order by activation desc limit 1
           ), e.activation - ${PERIODS_READ + 1})
           and (ended_after_seq >= asked.from_seq or ended_offset > asked.from_offset)
           and (began_after_seq is not null or began_offset is not null)
           and (began_after_seq < ended_after_seq or coalesce(began_offset, 0) < ended_offset)
       ) p on true
       where e.is_active order by e.org_id, e.created_at, e.id`,
      [[...from.keys()], [...from.values()].map(({ seq }) => seq), [...from.values()].map(({ offset }) => offset)],
    );
    const byOrg = new Map<OrgId, RoutedSubscriber[]>();
    for (const row of rows) {
      const subscribers = byOrg.get(row.org_id) ?? [];
      // What agents are called with changes with each call, and keys that sign are read when they do.
      const isLookedUp = row.kind === 'mcp' || signsAsymmetrically(row.delivery_settings) || row.has_long_headers;
      let target: Target | UnreadableTarget | undefined;
      subscribers.push({
        id: row.id,
        isActive: true,
        isPaced: row.is_paced,
        isOrdered: row.is_ordered,
        ...(row.delivery_settings === null ? {} : { settings: row.delivery_settings }),
        events: row.events,
        widgetIds: row.widget_ids,
        filter: row.filter,
        ...(row.kind === 'mcp' ? { isExact: true } : {}),
        created: {
          afterSeq: seqFromText(row.receives_after_seq),
          endOffset: row.receives_from_offset === null ? null : Number(row.receives_from_offset),
          atMs: Number(row.created_ms),
        },
        inactive: (row.inactive ?? []).map(toPeriod),
        // Made once, for all events of the batch.
        target: () => {
          if (isLookedUp) return undefined;
          const read = (target ??= this.#readTarget(row));
          return 'url' in read ? read : undefined;
        },
      });
      byOrg.set(row.org_id, subscribers);
    }
    return byOrg;
  }

  /** Returns for each attempt, in order, its current endpoint, and whether it and its followers must still be made. */
  async lookUp(attempts: readonly DueAttempt[]): Promise<readonly (DispatchLookupResult | UnreadableTarget)[]> {
    // Of the rows of an endpoint, one has its custom headers.
    const placeOf = new Map(attempts.map(({ delivery }, place) => [delivery.endpointId, place]));
    const followers = attempts.flatMap(({ run, followers: its = [] }, head) =>
      its.map(({ delivery, attempt }) => ({ delivery, run, attempt, head })),
    );
    // The rows of the followers come last. They have the deliveries alone: the endpoints are those of the attempts.
    const asked = [...attempts, ...followers];
    const rows = await this.store.prepared<DispatchRow>(
      'look_up_attempts',
      `select ${targetColumns('due.reads_headers')}, e.is_active,
         m.id as subscription_id, m.org_id, m.watermark_seq, ${IS_IN_FORCE} as is_in_force, d.run, d.attempts, d.status, ${IS_ENDED} as is_ended
       from unnest($1::text[], $2::text[], $3::bigint[], $4::boolean[])
         with ordinality as due(endpoint_id, delivery_id, created_ms, reads_headers, place)
       left join endpoints e on e.id = due.endpoint_id
       left join mcp_subscriptions m on m.endpoint_id = e.id
       left join api_keys k on k.id = m.key_id
       left join lateral (
         select endpoint_id, run, attempts, status, endings from deliveries
         where id = due.delivery_id and created_at = to_timestamp(due.created_ms / 1000.0) limit 1
       ) d on true
       left join endpoint_endings n on n.endpoint_id = d.endpoint_id
       order by due.place`,
      [
        asked.map(({ delivery }, place) => (place < attempts.length ? delivery.endpointId : null)),
        asked.map(({ delivery }) => delivery.deliveryId),
        asked.map(({ delivery }) => delivery.createdAtMs),
        asked.map(({ delivery }, place) => placeOf.get(delivery.endpointId) === place),
      ],
    );
    const endsBefore = new Map<number, Seq>();
    for (const [nth, follower] of followers.entries()) {
      const row = rows[attempts.length + nth];
      if (row === undefined || endsBefore.has(follower.head) || !isSuperseded(follower, row)) continue;
      endsBefore.set(follower.head, follower.delivery.seq);
    }
    const targets = new Map<EndpointId, Target | UnreadableTarget>();
    for (const [id, place] of placeOf) {
      const row = rows[place];
      if (row !== undefined && row.url !== null) targets.set(id, this.#readTarget(row));
    }
    const isAsymmetric = rows.some((row) => row.url !== null && signsAsymmetrically(row.delivery_settings));
    const signing = isAsymmetric ? await this.#readSigningKeys() : [];
    return attempts.map((due, index): DispatchLookupResult | UnreadableTarget => {
      const row = rows[index];
      const read = targets.get(due.delivery.endpointId);
      if (row === undefined || row.url === null || read === undefined) return { kind: 'gone' };
      if (isSuperseded(due, row)) return { kind: 'superseded' };
      const isSubscription = row.subscription_id !== null;
      if (!row.is_active || (isSubscription && !row.is_in_force)) return { kind: 'inactive' };
      if (!('url' in read)) return read;
      const signingKeys = signsAsymmetrically(row.delivery_settings) ? signing : undefined;
      if (signingKeys !== undefined && 'kind' in signingKeys) return signingKeys;
      const target = {
        ...read,
        ...(isSubscription ? { activation: UNCOUNTED_ACTIVATION } : {}),
        ...this.#mcpTarget(row),
        ...(signingKeys === undefined ? {} : { signingKeys }),
      };
      const before = endsBefore.get(index);
      return { kind: 'target', target, ...(before === undefined ? {} : { endsBefore: before }) };
    });
  }

  /** Never throws: an endpoint that cannot be read must not keep others waiting. */
  #readTarget(row: TargetRow): Target | UnreadableTarget {
    try {
      return this.#target(row);
    } catch (error) {
      return { kind: 'unreadable', error };
    }
  }

  /** Only Postgres that is away makes it throw: keys that cannot be read must not keep other endpoints waiting. */
  async #readSigningKeys(): Promise<readonly KeyObject[] | UnreadableTarget> {
    try {
      return await this.#signingKeys.signing();
    } catch (error) {
      if (isPostgresAway(error)) throw error;
      return { kind: 'unreadable', error };
    }
  }

  #target(row: TargetRow): Target {
    const {
      previous_secret_ciphertext: previous,
      delivery_settings: settings,
      custom_headers_ciphertext: headers,
    } = row;
    return {
      url: row.url,
      secret: this.#deciphered.of(row.secret_ciphertext),
      previousSecret: previous === null ? null : this.#deciphered.of(previous),
      activation: row.activation,
      ...(settings === null ? {} : { settings }),
      ...(headers === null ? {} : toSent(JSON.parse(this.#deciphered.of(headers)) as CustomHeaders)),
    };
  }

  #mcpTarget({ subscription_id: subscriptionId, org_id: orgId, watermark_seq: seq }: EndpointRow): Pick<Target, 'mcp'> {
    if (subscriptionId === null) return {};
    this.#cursors ??= new EventCursors(this.cipher.keysFor(EVENT_CURSOR_KEYS));
    return { mcp: { subscriptionId, cursor: this.#cursors.at(orgId, seqFromText(seq)) } };
  }
}

function signsAsymmetrically(settings: Partial<DeliverySettings> | null): boolean {
  return settings?.signatures?.includes('ed25519') === true;
}

function toSent(custom: CustomHeaders): Pick<Target, 'headers' | 'oauth2' | 'certificate'> {
  const { auth, certificate } = custom;
  return {
    headers: sentHeaders(custom),
    ...(auth?.type === 'oauth2' ? { oauth2: auth } : {}),
    ...(certificate === undefined ? {} : { certificate }),
  };
}

function toPeriod(row: InactiveRow): InactivePeriod {
  return {
    began: { afterSeq: row.beganAfterSeq ?? NO_SEQ, endOffset: row.beganOffset },
    ended: { afterSeq: row.endedAfterSeq, endOffset: row.endedOffset, atMs: row.endedMs },
  };
}

const NO_SEQ = 0 as Seq;

/** Attempts of activation 0 never disable an endpoint: an MCP subscription is suspended by its rate of failures. */
const UNCOUNTED_ACTIVATION = 0;
