import {
  changedSettings,
  changeHeaders,
  DEFAULT_DELIVERY_SETTINGS,
  GaplessError,
  isOrdered,
  isPaced,
  NO_CUSTOM_HEADERS,
  shownHeaders,
  type CustomHeaders,
  type CustomHeadersChange,
  type DatedTarget,
  type DeliverySettings,
  type EndpointId,
  type OrgId,
  type ShownHeaders,
  type WidgetId,
} from '#libs/domain';
import type { QueryRunner } from 'typeorm';
import { OPERATOR, type AuditActor } from '../access/audit-actor.js';
import { apiName, withApiNames } from '../access/audit-details.js';
import { appendAudit } from '../access/audit-log.js';
import { refuseEndedOfOrg } from '../access/refuse-ended.js';
import { EndpointEntity } from '../entities/endpoint.entity.js';
import { noteActivity } from '../operations/note-operational-events.js';
import type { SecretCipher } from '../access/secret-cipher.js';
import { lockFor } from '../connection/advisory-locks.js';
import type { Store } from '../connection/store.js';
import { forgetEndpoints } from './forget-endpoints.js';

/** An endpoint as its owners see it (contract 3.1), without its secret. */
export interface EndpointRecord {
  readonly id: EndpointId;
  readonly orgId: OrgId;
  readonly name: string | null;
  readonly description: string | null;
  readonly url: string;
  readonly events: readonly string[];
  readonly widgetIds: readonly WidgetId[] | null;
  readonly filter: string | null;
  readonly isActive: boolean;
  readonly activation: number;
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
  readonly failureCount: number;
  /** Until when the previous secret signs or signed, too. */
  readonly previousSecretUntil: Date | null;
  readonly lastTriggeredAt: Date | null;
  readonly createdAt: Date;
  readonly settings: DeliverySettings;
  /** The names of additional headers; never their values. */
  readonly shownHeaders: ShownHeaders | null;
}

export interface NewEndpoint extends Pick<
  EndpointRecord,
  'id' | 'orgId' | 'name' | 'description' | 'url' | 'events' | 'widgetIds' | 'createdAt'
> {
  readonly filter?: string | null;
  readonly secret: string;
  /** The end of the org's partition of the log. The endpoint does not receive earlier records. */
  readonly logEnd: number;
  /** Settings that differ from the defaults. */
  readonly settings?: Partial<DeliverySettings>;
  readonly customHeaders?: CustomHeadersChange;
  /** The seed of the request, so that a repeat has no second effect. */
  readonly seed?: string | null;
}

/** The members of an endpoint that can change. Missing members stay unchanged. */
export interface EndpointChanges {
  readonly name?: string | null;
  readonly description?: string | null;
  readonly url?: string;
  readonly events?: readonly string[];
  readonly widgetIds?: readonly WidgetId[] | null;
  readonly filter?: string | null;
  readonly settings?: Partial<DeliverySettings>;
  readonly customHeaders?: CustomHeadersChange;
  /** Whether the endpoint receives events, from this end of the org's partition of the log on. */
  readonly isActive?: { readonly becomes: boolean; readonly logEnd: number };
}

/** How a signing secret is replaced. */
interface SecretChange {
  readonly at: Date;
  readonly overlapsUntil: Date | null;
  /** The seed of the request, so that a repeat does not undo a later change. */
  readonly seed?: string | null;
}

/** The members that select events. */
export type EventSelection = Required<Pick<EndpointChanges, 'events' | 'filter'>>;

interface EndpointRow {
  readonly id: EndpointId;
  readonly org_id: OrgId;
  readonly name: string | null;
  readonly description: string | null;
  readonly url: string;
  readonly events: string[];
  readonly widget_ids: WidgetId[] | null;
  readonly filter: string | null;
  readonly is_active: boolean;
  readonly activation: number;
  readonly disabled_at: Date | null;
  readonly disabled_reason: string | null;
  readonly failure_count: number | null;
  readonly previous_secret_until: Date | null;
  readonly last_triggered_at: Date | null;
  readonly created_at: Date;
  readonly delivery_settings: Partial<DeliverySettings> | null;
  readonly ordered_since: Date | null;
  readonly custom_headers_shown: ShownHeaders | null;
}

/** Failures of an earlier activation do not count: after enabling, the count is 0 again (contract 4.2). */
const SELECT = `
  select e.id, e.org_id, e.name, e.description, e.url, e.events, e.widget_ids, e.filter, e.is_active, e.activation, e.disabled_at,
    e.disabled_reason, e.created_at, e.previous_secret_until, e.delivery_settings, e.ordered_since, e.custom_headers_shown,
    h.last_triggered_at,
    case when h.activation = e.activation then h.failure_count end as failure_count
  from endpoints e left join endpoint_health h on h.endpoint_id = e.id
  where e.kind = 'webhook'`;

function toRecord(row: EndpointRow): EndpointRecord {
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    description: row.description,
    url: row.url,
    events: row.events,
    widgetIds: row.widget_ids,
    filter: row.filter,
    isActive: row.is_active,
    activation: row.activation,
    disabledAt: row.disabled_at,
    disabledReason: row.disabled_reason,
    failureCount: row.failure_count ?? 0,
    previousSecretUntil: row.previous_secret_until,
    lastTriggeredAt: row.last_triggered_at,
    createdAt: row.created_at,
    settings: { ...DEFAULT_DELIVERY_SETTINGS, ...row.delivery_settings },
    shownHeaders: row.custom_headers_shown,
  };
}

async function find(runner: QueryRunner, id: EndpointId): Promise<EndpointRecord | undefined> {
  const [row] = (await runner.query(`${SELECT} and e.id = $1`, [id])) as EndpointRow[];
  return row && toRecord(row);
}

/** The columns of delivery settings. @param orderedSince since when the endpoint has been ordered until now */
function settingsColumns(settings: DeliverySettings, at: Date, orderedSince: Date | null = null) {
  return {
    deliverySettings: changedSettings(settings),
    isPaced: isPaced(settings),
    orderedSince: isOrdered(settings) ? (orderedSince ?? at) : null,
  };
}

function isSameSet(one: readonly string[] | null, other: readonly string[] | null): boolean {
  return String(one?.toSorted() ?? null) === String(other?.toSorted() ?? null) && (one === null) === (other === null);
}

/** Whether the changes select other events than before. */
function changesSubscription(before: EndpointRow, { events, widgetIds, filter }: EndpointChanges): boolean {
  return (
    (events !== undefined && !isSameSet(events, before.events)) ||
    (widgetIds !== undefined && !isSameSet(widgetIds, before.widget_ids)) ||
    (filter !== undefined && filter !== before.filter)
  );
}

/** Returns the members that change, by their names in the api. Whether the endpoint is active has an entry of its own. */
function changedMembers({ isActive: _, settings, customHeaders, ...plain }: EndpointChanges): readonly string[] {
  const names = [...Object.keys(plain), ...Object.keys(settings ?? {})].map(apiName);
  return customHeaders === undefined ? names : [...names, 'headers'];
}

const NOTHING_SHOWN = shownHeaders(NO_CUSTOM_HEADERS);

/** Returns what the audit log says of additional headers. */
function loggedHeaders({ names, auth, oauth2, certificate }: ShownHeaders) {
  return { headers: names, auth, ...oauth2, ...(certificate && { client_certificate: certificate.fingerprint }) };
}

function changesNothing({ headers, auth, certificate }: CustomHeadersChange): boolean {
  return headers === undefined && auth === undefined && certificate === undefined;
}

function isSameOrigin(url: string, other: string): boolean {
  return URL.canParse(url) && URL.canParse(other) && new URL(url).origin === new URL(other).origin;
}

function refusedHeaders(member: string, detail: string): GaplessError {
  const problems = [{ pointer: `#/${member}`, code: 'not_allowed', detail }];
  return new GaplessError('validation_failed', `#/${member}: ${detail}`, { problems });
}

/** The error of a repeated request whose effect is not there any more. */
function changedSince(detail: string): GaplessError {
  return new GaplessError('idempotency_conflict', detail);
}

/** Where the log and the feed of an org end. */
interface LogPlace {
  readonly logEnd: number;
  /** SQL for the last seq in the feed. */
  readonly head: string;
}

/** An org's endpoints, as its operators manage them. */
export class EndpointRecords {
  constructor(
    private readonly store: Store,
    private readonly cipher: SecretCipher,
    private readonly actor: AuditActor | null = OPERATOR,
  ) {}

  /** Returns the same records, with changes logged in the name of `actor` instead of the operator. */
  by(actor: AuditActor): EndpointRecords {
    return new EndpointRecords(this.store, this.cipher, actor);
  }

  /** Lists the endpoints, oldest first. */
  async list(orgId: OrgId): Promise<readonly EndpointRecord[]> {
    return this.store.forOrg(orgId, async (runner) => {
      const rows = (await runner.query(`${SELECT} order by e.created_at, e.id`)) as EndpointRow[];
      return rows.map(toRecord);
    });
  }

  /**
   * Lists up to `limit` endpoints, oldest first, from after that one on.
   * @param after `null` to begin with the first one
   * @returns `undefined` if there is no endpoint `after`
   */
  async page(
    orgId: OrgId,
    { after, limit }: { readonly after: EndpointId | null; readonly limit: number },
  ): Promise<readonly EndpointRecord[] | undefined> {
    return this.store.forOrg(orgId, async (runner) => {
      const isKnown = after === null || (await runner.manager.existsBy(EndpointEntity, { id: after, kind: 'webhook' }));
      if (!isKnown) return undefined;
      const follows = '(e.created_at, e.id) > (select created_at, id from endpoints where id = $2)';
      const rows = (await runner.query(
        `${SELECT} and ($2::text is null or ${follows}) order by e.created_at, e.id limit $1`,
        [limit, after],
      )) as EndpointRow[];
      return rows.map(toRecord);
    });
  }

  async find(orgId: OrgId, id: EndpointId): Promise<EndpointRecord | undefined> {
    return this.store.forOrg(orgId, (runner) => find(runner, id));
  }

  /**
   * Returns the url and the secrets of an endpoint; a secret that cannot be decrypted is `null`. Use secrets to sign, never
   * show them.
   */
  async pushTarget(orgId: OrgId, id: EndpointId): Promise<DatedTarget | undefined> {
    return this.store.forOrg(orgId, async (runner) => {
      const found = await runner.manager.findOneBy(EndpointEntity, { id, kind: 'webhook' });
      if (found === null) return undefined;
      const { url, urlChangedAt, secretCiphertext, secretChangedAt, deliverySettings, deliveryChangedAt } = found;
      const { previousSecretCiphertext: previous, previousSecretUntil } = found;
      return {
        url,
        urlChangedAt,
        secret: this.cipher.decryptOrNull(secretCiphertext),
        secretChangedAt,
        previousSecret: previous === null ? null : this.cipher.decryptOrNull(previous),
        previousSecretUntil,
        settings: deliverySettings ?? {},
        shownHeaders: found.customHeadersShown,
        settingsChangedAt: deliveryChangedAt,
      };
    });
  }

  /**
   * @returns `limit_reached`, without creating anything, when the org has `limit` endpoints already
   * @throws GaplessError `validation_failed`; `invalid_api_key` if the actor's own key has ended meanwhile;
   *   `idempotency_conflict` if an earlier attempt at the request created it, and it was deleted since
   */
  async create(endpoint: NewEndpoint, limit: number): Promise<EndpointRecord | 'limit_reached'> {
    const settings = { ...DEFAULT_DELIVERY_SETTINGS, ...endpoint.settings };
    const custom = this.#changedHeaders(NO_CUSTOM_HEADERS, endpoint.customHeaders ?? {}, endpoint.url);
    const shown = custom?.customHeadersShown ?? null;
    const filter = endpoint.filter ?? null;
    const head = await this.store.feed.headSql(endpoint.orgId);
    return this.store.forOrg(endpoint.orgId, async (runner) => {
      // Two requests at the limit must not both succeed.
      await lockFor(runner, 'endpoints', endpoint.orgId);
      // The deletion of the org takes this lock, too.
      await refuseEndedOfOrg(runner, this.actor);
      if ((await runner.manager.countBy(EndpointEntity, { kind: 'webhook' })) >= limit) return 'limit_reached';
      await runner.manager.insert(EndpointEntity, {
        id: endpoint.id,
        orgId: endpoint.orgId,
        name: endpoint.name,
        description: endpoint.description,
        url: endpoint.url,
        events: [...endpoint.events],
        widgetIds: endpoint.widgetIds === null ? null : [...endpoint.widgetIds],
        filter,
        isActive: true,
        activation: 1,
        secretCiphertext: this.cipher.encrypt(endpoint.secret),
        createdAt: endpoint.createdAt,
        // Excludes earlier events by seq and by offset: the feed may lag, and the log may be created again.
        receivesAfterSeq: () => head,
        receivesFromOffset: String(endpoint.logEnd),
        ...settingsColumns(settings, endpoint.createdAt),
        ...custom,
      });
      const entry = {
        orgId: endpoint.orgId,
        action: 'endpoint.created',
        target: endpoint.id,
        details: {
          url: endpoint.url,
          ...(filter === null ? {} : { filter }),
          ...(endpoint.settings === undefined ? {} : { delivery: withApiNames(changedSettings(settings) ?? {}) }),
          ...(shown === null ? {} : loggedHeaders(shown)),
        },
      } as const;
      if (!(await appendAudit(runner, this.actor, entry, endpoint.seed))) {
        throw changedSince(
          'This request created an endpoint that was deleted since. Use another Idempotency-Key to create a new one.',
        );
      }
      const created = await find(runner, endpoint.id);
      if (created === undefined) throw new Error('the endpoint was not stored');
      return created;
    });
  }

  /**
   * Changes the given members. Disabling and enabling are stored as a period in which the endpoint was inactive. An
   * endpoint that is inactive (or active) already stays unchanged.
   * @param beforeCommit called when the change disables the endpoint; if it fails, nothing is changed
   * @param accept called with what the endpoint would select, if that changes; if it throws, nothing is changed
   * @returns the changed endpoint; `undefined` if there is none
   * @throws GaplessError `validation_failed`; `invalid_api_key` if the actor's own key has ended before a change of the url
   */
  async update(
    orgId: OrgId,
    id: EndpointId,
    changes: EndpointChanges,
    at: Date,
    beforeCommit: (endpoint: EndpointRecord) => Promise<void>,
    accept: (selection: EventSelection) => void = () => undefined,
  ): Promise<EndpointRecord | undefined> {
    const head = changes.isActive === undefined ? '0' : await this.store.feed.headSql(orgId);
    return this.store.forOrg(orgId, async (runner) => {
      const [before] = (await runner.query(`${SELECT} and e.id = $1 for no key update of e`, [id])) as EndpointRow[];
      if (before === undefined) return undefined;
      // Looking up the host of a new url takes as long as its name servers like.
      if (changes.url !== undefined || changes.customHeaders?.auth?.type === 'oauth2')
        await refuseEndedOfOrg(runner, this.actor);
      if (changesSubscription(before, changes)) {
        accept({
          events: changes.events ?? before.events,
          filter: changes.filter === undefined ? before.filter : changes.filter,
        });
      }
      const { isActive, widgetIds, events, settings, customHeaders, ...plain } = changes;
      const custom = await this.#changeHeaders(runner, before, changes.url, customHeaders ?? {});
      await runner.manager.update(
        EndpointEntity,
        { id },
        {
          ...plain,
          ...(plain.url === undefined || plain.url === before.url ? {} : { urlChangedAt: at }),
          ...(events === undefined ? {} : { events: [...events] }),
          ...(widgetIds === undefined ? {} : { widgetIds: widgetIds === null ? null : [...widgetIds] }),
          ...(settings === undefined
            ? {}
            : settingsColumns(
                { ...DEFAULT_DELIVERY_SETTINGS, ...before.delivery_settings, ...settings },
                at,
                before.ordered_since,
              )),
          ...(changesSubscription(before, changes) ? { subscriptionChangedAt: at } : {}),
          ...custom,
          ...(settings === undefined && custom === undefined ? {} : { deliveryChangedAt: at }),
          // An update without members would not be valid SQL.
          id,
        },
      );
      const switches = isActive !== undefined && isActive.becomes !== before.is_active;
      const changed = changedMembers(changes);
      if (changed.length > 0) {
        const details = {
          changed,
          ...(plain.url === undefined ? {} : { url: plain.url }),
          ...(plain.filter === undefined ? {} : { filter: plain.filter }),
          ...(settings === undefined ? {} : { delivery: withApiNames(settings) }),
          ...(custom === undefined ? {} : loggedHeaders(custom.customHeadersShown ?? NOTHING_SHOWN)),
        };
        await appendAudit(runner, this.actor, { orgId, action: 'endpoint.changed', target: id, details });
      }
      if (switches) {
        await appendAudit(runner, this.actor, {
          orgId,
          action: isActive.becomes ? 'endpoint.enabled' : 'endpoint.disabled',
          target: id,
        });
      }
      if (switches && isActive.becomes) await this.#enable(runner, id, at, { logEnd: isActive.logEnd, head });
      if (switches && !isActive.becomes) await this.#disable(runner, id, at, { logEnd: isActive.logEnd, head });
      const record = await find(runner, id);
      if (record === undefined) return undefined;
      if (switches) {
        const change = isActive.becomes
          ? ({ becomes: 'enabled' } as const)
          : ({ becomes: 'disabled', reason: 'operator' } as const);
        await noteActivity(runner, { orgId, endpointId: id, activation: record.activation }, change, at.getTime());
      }
      if (switches && !isActive.becomes) await beforeCommit(record);
      return record;
    });
  }

  /**
   * Returns the columns of changed headers; `undefined` if they do not change. Headers are secrets of the server that
   * they were given for: if the url moves to another origin, they have to be given again.
   */
  async #changeHeaders(runner: QueryRunner, before: EndpointRow, url: string | undefined, change: CustomHeadersChange) {
    const shown = before.custom_headers_shown;
    const to = url ?? before.url;
    if (shown === null) return this.#changedHeaders(NO_CUSTOM_HEADERS, change, to);
    if (url !== undefined && !isSameOrigin(url, before.url)) {
      const isGiven =
        (shown.names.length === 0 || change.headers !== undefined) &&
        (shown.auth === null || change.auth !== undefined) &&
        (shown.certificate === undefined || change.certificate !== undefined);
      const nothing = { headers: null, auth: null, certificate: null };
      if (isGiven) return this.#changedHeaders(NO_CUSTOM_HEADERS, { ...nothing, ...change }, to);
      throw refusedHeaders(
        'url',
        'is another server: give headers, auth and client_certificate again, or null to send none',
      );
    }
    if (changesNothing(change)) return undefined;
    const [row] = (await runner.query('select custom_headers_ciphertext as ciphertext from endpoints where id = $1', [
      before.id,
    ])) as { ciphertext: Buffer }[];
    const stored =
      row === undefined ? NO_CUSTOM_HEADERS : (JSON.parse(this.cipher.decrypt(row.ciphertext)) as CustomHeaders);
    return this.#changedHeaders(stored, change, to);
  }

  /** @throws GaplessError `validation_failed` */
  #changedHeaders(before: CustomHeaders, change: CustomHeadersChange, url: string) {
    if (changesNothing(change)) return undefined;
    const changed = changeHeaders(before, change);
    if (!changed.ok) throw refusedHeaders(changed.member, changed.detail);
    const shown = shownHeaders(changed.custom);
    if (shown.certificate !== undefined && new URL(url).protocol !== 'https:') {
      throw refusedHeaders('client_certificate', 'needs an https url');
    }
    if (shown.names.length === 0 && shown.auth === null && shown.certificate === undefined)
      return { customHeadersCiphertext: null, customHeadersShown: null };
    return {
      customHeadersCiphertext: this.cipher.encrypt(JSON.stringify(changed.custom)),
      customHeadersShown: shown,
    };
  }

  /**
   * Returns the endpoint that an earlier attempt at the same request created with this secret; `undefined` if there is none.
   * @throws GaplessError `idempotency_conflict` if the secret was replaced since
   */
  async findCreated(orgId: OrgId, id: EndpointId, secret: string): Promise<EndpointRecord | undefined> {
    return this.store.forOrg(orgId, async (runner) => {
      const stored = await this.#lockedSecret(runner, id);
      if (stored === undefined) return undefined;
      if (stored !== secret) {
        throw changedSince(
          `This request created the endpoint ${id}, and its secret was replaced since. Rotate the secret to get a new one.`,
        );
      }
      return find(runner, id);
    });
  }

  /**
   * Replaces the endpoint's signing secret. The previous one also signs until `overlapsUntil`, unless it cannot be
   * decrypted; an older one does not. If it is the secret already, nothing changes: the request was repeated.
   * @returns the endpoint; `undefined` if there is none
   * @throws GaplessError `idempotency_conflict` if the request was repeated, and the secret was replaced since
   */
  async replaceSecret(
    orgId: OrgId,
    id: EndpointId,
    secret: string,
    { at, overlapsUntil: overlapEnd, seed }: SecretChange,
  ): Promise<EndpointRecord | undefined> {
    return this.store.forOrg(orgId, async (runner) => {
      const stored = await this.#lockedSecret(runner, id);
      if (stored === undefined) return undefined;
      if (stored !== secret) {
        // Nothing could be sent to the endpoint while one of its secrets cannot be decrypted.
        const overlapsUntil = stored === null ? null : overlapEnd;
        const details = { overlaps_until: overlapsUntil?.toISOString() ?? null };
        const entry = { orgId, action: 'endpoint.secret_rotated', target: id, details } as const;
        if (!(await appendAudit(runner, this.actor, entry, seed))) {
          throw changedSince(
            'This request replaced the secret, which was replaced again since. Use another Idempotency-Key to get a new one.',
          );
        }
        const previous = overlapsUntil === null ? null : () => 'secret_ciphertext';
        await runner.manager.update(
          EndpointEntity,
          { id, kind: 'webhook' },
          {
            secretCiphertext: this.cipher.encrypt(secret),
            secretChangedAt: at,
            previousSecretCiphertext: previous,
            previousSecretUntil: overlapsUntil,
          },
        );
      }
      return find(runner, id);
    });
  }

  /**
   * Locks the endpoint, and returns its secret; `undefined` if there is no endpoint, and `null` for a secret that cannot be
   * decrypted any more, which can be replaced.
   */
  async #lockedSecret(runner: QueryRunner, id: EndpointId): Promise<string | null | undefined> {
    const [stored] = (await runner.query(
      `select secret_ciphertext as ciphertext from endpoints where id = $1 and kind = 'webhook' for no key update`,
      [id],
    )) as { ciphertext: Buffer }[];
    return stored && this.cipher.decryptOrNull(stored.ciphertext);
  }

  /** Ends the overlap of two secrets early; does nothing without one. @returns whether the endpoint exists */
  async endOverlap(orgId: OrgId, id: EndpointId, at: Date): Promise<boolean> {
    return this.store.forOrg(orgId, async (runner) => {
      const [, ended] = (await runner.query(
        `update endpoints set previous_secret_ciphertext = null, previous_secret_until = least(previous_secret_until, $2)
         where id = $1 and kind = 'webhook' and previous_secret_ciphertext is not null`,
        [id, at],
      )) as [unknown, number];
      if (ended > 0) await appendAudit(runner, this.actor, { orgId, action: 'endpoint.overlap_ended', target: id });
      return runner.manager.existsBy(EndpointEntity, { id, kind: 'webhook' });
    });
  }

  /** Deletes the secrets whose overlap is over, of all orgs. @returns the number of deleted secrets */
  async forgetPreviousSecrets(at: Date): Promise<number> {
    const [row] = await this.store.query<{ count: number }>(
      `with forgotten as (
         update endpoints set previous_secret_ciphertext = null
         where previous_secret_until <= least($1, now()) and previous_secret_ciphertext is not null returning 1
       ) select count(*)::int as count from forgotten`,
      [at],
    );
    return row?.count ?? 0;
  }

  async #disable(runner: QueryRunner, id: EndpointId, at: Date, { logEnd, head }: LogPlace): Promise<void> {
    await runner.query(
      `update endpoints set is_active = false, disabled_at = $2, disabled_reason = 'operator' where id = $1`,
      [id, at],
    );
    await runner.query(
      `insert into endpoint_inactive_periods (endpoint_id, org_id, activation, began_at, began_after_seq, began_offset)
       select id, org_id, activation, disabled_at, ${head}, $2
       from endpoints e where id = $1`,
      [id, logEnd],
    );
  }

  /** Starts a new activation: failures of the previous one do not count. */
  async #enable(runner: QueryRunner, id: EndpointId, at: Date, { logEnd, head }: LogPlace): Promise<void> {
    await runner.query(
      `update endpoint_inactive_periods p set ended_at = $2, ended_offset = $3,
         ended_after_seq = ${head}
       where endpoint_id = $1 and activation = (select activation from endpoints where id = $1)`,
      [id, at, logEnd],
    );
    await runner.query(
      `update endpoints set is_active = true, activation = activation + 1, disabled_at = null, disabled_reason = null
       where id = $1`,
      [id],
    );
  }

  /**
   * Deletes the endpoint and its delivery history (contract 5.1). The history is hidden at once. Its rows, possibly
   * millions, are removed later (`Backlogs`).
   * @returns whether the endpoint existed
   */
  async delete(orgId: OrgId, id: EndpointId): Promise<boolean> {
    return this.store.forOrg(orgId, async (runner) => {
      // The projector holds a key-share lock on the row while it writes history, so it adds nothing after this.
      const deleted = await runner.manager.delete(EndpointEntity, { id, kind: 'webhook' });
      if ((deleted.affected ?? 0) === 0) return false;
      await forgetEndpoints(runner, orgId, [id]);
      await appendAudit(runner, this.actor, { orgId, action: 'endpoint.deleted', target: id });
      return true;
    });
  }
}
