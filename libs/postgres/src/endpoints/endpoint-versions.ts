import type { AskedEvent, EndpointId, EndpointVersion, OrgId, WidgetId } from '#libs/domain';
import type { Store } from '../connection/store.js';

/** An endpoint at the time of an event. */
export interface EndpointThen {
  readonly id: EndpointId;
  readonly name: string | null;
  /** The present url; of a deleted endpoint, the last one. */
  readonly url: string;
  readonly deletedAt: Date | null;
  /** What the event met; `not_yet_created` or `deleted` if the endpoint did not exist. */
  readonly version: PlacedVersion | 'not_yet_created' | 'deleted';
}

/** A version in the history of its endpoint. */
export interface PlacedVersion extends EndpointVersion {
  readonly position: bigint;
  readonly changedAt: Date;
}

interface VersionRow {
  /** The driver returns a `bigint` as text. */
  readonly position: string;
  readonly changed_at: Date;
  readonly events: string[];
  readonly is_in_scope: boolean;
  readonly filter: string | null;
  readonly inactive_since: Date | null;
}

type ThenRow = (VersionRow | { readonly position: null }) & {
  readonly id: EndpointId;
  readonly name: string | null;
  readonly url: string;
  readonly deleted_at: Date | null;
  readonly is_deleted: boolean;
};

/** Deleted endpoints that answers list, the latest first. Registering and deleting endpoints is not limited. */
const DELETED_LISTED = 1_000;
/**
 * Versions after the event that may have decided about it, for each endpoint. Each may have a long filter, which takes up to a
 * millisecond.
 */
const LATER_VERSIONS = 50;
/** The most rows that one statement deletes. */
const PRUNE_ROWS = 10_000;

/** Says of the widget ids only whether the event is in scope: each version of an endpoint may have a thousand. */
const versionFor = (widgetId: string) =>
  `position, changed_at, events, filter, inactive_since,
   (${widgetId}::uuid is null or widget_ids is null or ${widgetId} = any(widget_ids)) as is_in_scope`;

/** Endpoints that exist, by registration, then deleted ones, the latest first; or one of them. */
const AT_EVENT = `
  select e.id, e.name, e.url, e.deleted_at, v.*
  from (
    select id, name, url, null::timestamptz as deleted_at, 1 as part, extract(epoch from created_at) as place
    from endpoints where kind = 'webhook' and org_id = $1
    union all (
      select endpoint_id, name, url, changed_at, 2, -position
      from endpoint_versions where org_id = $1 and is_deleted order by position desc limit ${DELETED_LISTED}
    )
  ) e
  left join lateral (
    select is_deleted, ${versionFor('$4')} from endpoint_versions
    where endpoint_id = e.id and after_seq < $2 and changed_at <= $3 order by position desc limit 1
  ) v on true
  where $5::text is null or e.id = $5
  order by e.part, e.place, e.id`;

function toVersion(row: VersionRow): PlacedVersion {
  return {
    position: BigInt(row.position),
    changedAt: row.changed_at,
    events: row.events,
    isInScope: row.is_in_scope,
    filter: row.filter,
    inactiveSince: row.inactive_since,
  };
}

function versionThen(row: ThenRow): EndpointThen['version'] {
  if (row.position === null) return 'not_yet_created';
  return row.is_deleted ? 'deleted' : toVersion(row);
}

/** The configurations that endpoints had. A trigger of `endpoints` writes them (ADR 102). */
export class EndpointVersions {
  constructor(private readonly store: Store) {}

  /**
   * Returns each endpoint of the org with the last version from before the event, by seq and by time. A router that lags
   * may have used a later one.
   * @param endpointId of the only endpoint that is wanted; default: all
   */
  async at(
    orgId: OrgId,
    { seq, appendedAt, widgetId }: Pick<AskedEvent, 'seq' | 'appendedAt' | 'widgetId'>,
    endpointId: EndpointId | null = null,
  ): Promise<readonly EndpointThen[]> {
    const values = [orgId, seq, appendedAt, widgetId, endpointId];
    const rows = await this.store.preparedForOrg<ThenRow>(orgId, 'endpoints_at', AT_EVENT, values);
    return rows.map((row) => ({
      id: row.id,
      name: row.name,
      url: row.url,
      deletedAt: row.deleted_at,
      version: versionThen(row),
    }));
  }

  /**
   * Returns, for versions of endpoints, the one before each, if any, and the later ones, in order.
   * @param widgetId of the event
   * @param positions of the versions, one for each endpoint
   */
  async around(
    orgId: OrgId,
    widgetId: WidgetId | null,
    positions: ReadonlyMap<EndpointId, bigint>,
  ): Promise<ReadonlyMap<EndpointId, readonly PlacedVersion[]>> {
    const rows = await this.store.preparedForOrg<VersionRow & { readonly endpoint_id: EndpointId }>(
      orgId,
      'versions_around',
      `select near.* from unnest($1::text[], $2::bigint[]) as known(endpoint_id, place)
       cross join lateral (
         (select endpoint_id, ${versionFor('$3')} from endpoint_versions
          where endpoint_id = known.endpoint_id and position < known.place order by position desc limit 1)
         union all
         (select endpoint_id, ${versionFor('$3')} from endpoint_versions
          where endpoint_id = known.endpoint_id and position > known.place order by position limit ${LATER_VERSIONS})
       ) near
       order by near.position`,
      [[...positions.keys()], [...positions.values()].map(String), widgetId],
    );
    const versions = new Map<EndpointId, PlacedVersion[]>();
    for (const row of rows) {
      const known = versions.get(row.endpoint_id);
      if (known === undefined) versions.set(row.endpoint_id, [toVersion(row)]);
      else known.push(toVersion(row));
    }
    return versions;
  }

  /**
   * Removes the versions that the trigger added while a backup was restored. `pg_restore` fills `endpoints` before this
   * table, so each restored endpoint has its present configuration a second time, as that of its creation. Both rows end
   * together if the endpoint changes before this.
   */
  async removeAdded(): Promise<void> {
    await this.store.query(
      `delete from endpoint_versions added using endpoint_versions kept
       where kept.endpoint_id = added.endpoint_id
         and coalesce(kept.replaced_at, 'infinity') = coalesce(added.replaced_at, 'infinity')
         -- A deletion, or a change in the millisecond of the next one, ends together with the version before it, too.
         and kept.changed_at < coalesce(kept.replaced_at, 'infinity')
         and (kept.changed_at, kept.position, kept.id) > (added.changed_at, added.position, added.id)`,
    );
  }

  /**
   * Removes versions of all orgs that were replaced before that time, and endpoints that were deleted by then, at most
   * 10,000.
   * @returns whether no more are left
   */
  async prune(before: Date): Promise<boolean> {
    // Counts what was found, because another process may be deleting the same rows.
    const [row] = await this.store.query<{ found: number }>(
      `with old as materialized (
         select id from endpoint_versions where replaced_at < $1 order by replaced_at limit ${PRUNE_ROWS}
       ), pruned as (
         delete from endpoint_versions v using old where v.id = old.id
       ) select count(*)::int as found from old`,
      [before],
    );
    return row === undefined || row.found < PRUNE_ROWS;
  }
}
