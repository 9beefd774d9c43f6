import type { DeliverySettings, EndpointId, OrgId } from '#libs/domain';
import type { Meaning } from './statements.js';
import type { Row } from './statement.js';
import { targetOf, type EndpointRow, type InactivePeriodRow, type Tables } from './tables.js';

/** What `EndpointRecords` has TypeORM write, in words of this simulation. */
export const COUNT_ENDPOINTS = 'simulated: count the endpoints of the org';
export const INSERT_ENDPOINT = 'simulated: insert the endpoint';
export const UPDATE_ENDPOINT = 'simulated: update plain members of the endpoint';

function asSelected(tables: Tables, row: EndpointRow) {
  const health = tables.health.get(row.id);
  return {
    ...row,
    name: null,
    description: null,
    events: [...row.events],
    widget_ids: null,
    custom_headers_shown: null,
    disabled_at: null,
    disabled_reason: null,
    created_at: new Date(row.created_at_ms),
    last_triggered_at: null,
    failure_count: health?.['activation'] === row.activation ? health['failureCount'] : null,
  };
}

function headOf(tables: Tables, orgId: string): number {
  return tables.orgHeads.get(orgId) ?? 0;
}

function switched(tables: Tables, id: unknown, change: Partial<EndpointRow>): void {
  const endpoint = tables.endpoints.get(String(id));
  if (endpoint !== undefined) tables.endpoints.set(endpoint.id, { ...endpoint, ...change });
}

/** Begins a period in which the endpoint is inactive. */
function beginPeriod(tables: Tables, id: unknown, offset: unknown): void {
  const endpoint = tables.endpoints.get(String(id));
  if (endpoint === undefined) return;
  tables.inactivePeriods.set(`${endpoint.id}/${endpoint.activation}`, {
    endpoint_id: endpoint.id,
    activation: endpoint.activation,
    began_after_seq: headOf(tables, endpoint.org_id),
    began_offset: offset === null ? null : Number(offset),
    ended_after_seq: null,
    ended_offset: null,
    ended_ms: null,
  });
}

/** The periods of the endpoint after the last one that ended before those events. */
function periodsFrom(tables: Tables, id: EndpointId, { from_seq, from_offset }: Row): readonly InactivePeriodRow[] {
  const latestFirst = [...tables.inactivePeriods.values()]
    .filter(({ endpoint_id, ended_ms }) => endpoint_id === id && ended_ms !== null)
    .sort((one, other) => other.activation - one.activation);
  const before = latestFirst.findIndex(
    ({ ended_after_seq, ended_offset }) =>
      (ended_after_seq ?? 0) < Number(from_seq) && (ended_offset ?? 0) <= Number(from_offset),
  );
  return before === -1 ? latestFirst : latestFirst.slice(0, before);
}

/** What operators do to endpoints. */
export const ENDPOINT_STATEMENTS: readonly Meaning[] = [
  {
    name: 'refuse ended keys',
    domain: 'endpoints',
    sign: /from api_keys where id = \$1 and revoked_at is null[^;]*for share of api_keys/,
    // No key ends in a simulation.
    act: () => [{}],
  },
  {
    name: 'count endpoints',
    domain: 'endpoints',
    sign: /^simulated: count the endpoints/,
    act: (tables) => [{ count: tables.endpoints.size }],
  },
  {
    name: 'insert endpoint',
    domain: 'endpoints',
    isSeenWhenCommitted: true,
    sign: /^simulated: insert the endpoint/,
    act: (tables, _statement, [values]) => {
      const { id, orgId, url, events, filter, receivesFromOffset, createdAt, ...delivery } = values as {
        readonly id: EndpointId;
        readonly orgId: OrgId;
        readonly url: string;
        readonly events: readonly string[];
        readonly filter: string | null;
        readonly receivesFromOffset: string | null;
        readonly createdAt: Date;
        readonly deliverySettings: Partial<DeliverySettings> | null;
        readonly isPaced: boolean;
        readonly orderedSince: Date | null;
      };
      const row: EndpointRow = {
        id,
        org_id: orgId,
        url,
        events,
        filter,
        is_active: true,
        activation: 1,
        delivery_settings: delivery.deliverySettings,
        is_paced: delivery.isPaced,
        ordered_since: delivery.orderedSince,
        order_begun: null,
        created_at_ms: createdAt.getTime(),
        receives_after_seq: headOf(tables, orgId),
        receives_from_offset: receivesFromOffset === null ? null : Number(receivesFromOffset),
      };
      tables.endpoints.set(id, row);
      tables.onEndpoint(row);
      return [];
    },
  },
  {
    name: 'update endpoint',
    domain: 'endpoints',
    isSeenWhenCommitted: true,
    sign: /^simulated: update plain members/,
    act: (tables, _statement, [where, values]) => {
      const { deliverySettings, isPaced, orderedSince } = values as {
        readonly deliverySettings?: Partial<DeliverySettings> | null;
        readonly isPaced?: boolean;
        readonly orderedSince?: Date | null;
      };
      if (deliverySettings === undefined || isPaced === undefined) return [];
      switched(tables, (where as { readonly id: string }).id, {
        delivery_settings: deliverySettings,
        is_paced: isPaced,
        ordered_since: orderedSince ?? null,
      });
      return [];
    },
  },
  {
    name: 'note who changed it',
    domain: null,
    sign: /^\s*insert into audit_log/,
    act: () => [{ id: 'noted' }],
  },
  {
    name: 'note an operational event',
    domain: null,
    sign: /^\s*insert into operational_events/,
    act: () => [{ id: 'noted' }],
  },
  {
    name: 'count an operational event',
    domain: null,
    sign: /^\s*update operational_events set count/,
    // Nothing is kept, so each one is inserted.
    act: () => [[], 0],
  },
  {
    name: 'lock endpoint',
    domain: 'endpoints',
    sign: /from endpoints e\s[^$]*and e\.id = \$1 for no key update of e/,
    act: (tables, _statement, [id]) => {
      const row = tables.endpoints.get(String(id));
      return row === undefined ? [] : [asSelected(tables, row)];
    },
  },
  {
    name: 'find endpoint',
    domain: null,
    sign: /select e\.id, e\.org_id, e\.name[^$]*from endpoints e\s[^$]*and e\.id = \$1\s*$/,
    act: (tables, _statement, [id]) => {
      const row = tables.endpoints.get(String(id));
      return row === undefined ? [] : [asSelected(tables, row)];
    },
  },
  {
    name: 'disable by operator',
    domain: 'endpoints',
    isSeenWhenCommitted: true,
    sign: /set is_active = false, disabled_at = \$2, disabled_reason = 'operator'/,
    act: (tables, _statement, [id]) => {
      switched(tables, id, { is_active: false });
      return [];
    },
  },
  {
    name: 'begin inactive period',
    domain: 'endpoints',
    isSeenWhenCommitted: true,
    sign: /^\s*insert into endpoint_inactive_periods/,
    act: (tables, _statement, [id, offset]) => {
      beginPeriod(tables, id, offset ?? null);
      return [];
    },
  },
  {
    name: 'end inactive period',
    domain: 'endpoints',
    isSeenWhenCommitted: true,
    sign: /update endpoint_inactive_periods p set ended_at = \$2/,
    act: (tables, _statement, [id, at, offset]) => {
      const endpoint = tables.endpoints.get(String(id));
      const period = tables.inactivePeriods.get(`${String(id)}/${endpoint?.activation ?? 0}`);
      if (endpoint === undefined || period === undefined) return [];
      tables.inactivePeriods.set(`${endpoint.id}/${endpoint.activation}`, {
        ...period,
        ended_after_seq: headOf(tables, endpoint.org_id),
        ended_offset: offset === undefined || offset === null ? null : Number(offset),
        ended_ms: (at as Date).getTime(),
      });
      return [];
    },
  },
  {
    name: 'enable endpoint',
    domain: 'endpoints',
    isSeenWhenCommitted: true,
    sign: /set is_active = true, activation = activation \+ 1/,
    act: (tables, _statement, [id]) => {
      const endpoint = tables.endpoints.get(String(id));
      switched(tables, id, { is_active: true, activation: (endpoint?.activation ?? 0) + 1 });
      return [];
    },
  },
  {
    name: 'disable endpoint',
    domain: 'endpoints',
    isSeenWhenCommitted: true,
    sign: /update endpoints set is_active = false, disabled_at = \$3/,
    act: (tables, _statement, [id, activation, _at, offset]) => {
      const endpoint = tables.endpoints.get(String(id));
      if (endpoint?.activation === activation && endpoint?.is_active === true) {
        tables.endpoints.set(endpoint.id, { ...endpoint, is_active: false });
        beginPeriod(tables, id, offset ?? null);
        tables.onAutoDisabled(endpoint.id);
      }
      return [];
    },
  },
  {
    name: 'paced endpoints',
    domain: null,
    sign: /from endpoints where is_paced order by/,
    act: (tables) =>
      tables.endpoints
        .values()
        .filter(({ is_paced }) => is_paced)
        .map(({ id, org_id, delivery_settings, ordered_since, order_begun, created_at_ms }) => ({
          id,
          org_id,
          delivery_settings,
          ordered_since,
          order_begun,
          created_at: new Date(created_at_ms),
        })),
  },
  {
    name: 'order begins',
    domain: null,
    sign: /update endpoints set order_begun = ordered_since/,
    act: (tables, statement, parameters) => {
      for (const { id, since } of statement.rowsOf(parameters, 'begins')) {
        const row = tables.endpoints.get(String(id));
        if (row === undefined || row.ordered_since?.getTime() !== (since as Date | null)?.getTime()) continue;
        tables.endpoints.set(String(id), { ...row, order_begun: row.ordered_since });
      }
      return [];
    },
  },
  {
    name: 'subscribers',
    domain: null,
    sign: /as asked\(org_id, from_seq(, from_offset)?\)\s+join endpoints e/,
    act: (tables, statement, parameters) => {
      const asked = new Map(statement.rowsOf(parameters, 'asked').map((row) => [row['org_id'], row]));
      const rows = tables.endpoints.values().filter(({ org_id, is_active }) => is_active && asked.has(org_id));
      return rows.map((row) => {
        const inactive = periodsFrom(tables, row.id, asked.get(row.org_id) ?? {}).map((period) => ({
          beganAfterSeq: period.began_after_seq,
          beganOffset: period.began_offset,
          endedAfterSeq: period.ended_after_seq,
          endedOffset: period.ended_offset,
          endedMs: period.ended_ms,
        }));
        return {
          id: row.id,
          org_id: row.org_id,
          events: [...row.events],
          widget_ids: null,
          filter: row.filter,
          receives_after_seq: String(row.receives_after_seq),
          receives_from_offset: row.receives_from_offset === null ? null : String(row.receives_from_offset),
          created_ms: String(row.created_at_ms),
          is_paced: row.is_paced,
          is_ordered: row.ordered_since !== null,
          has_long_headers: false,
          ...targetOf(row),
          inactive: inactive.length === 0 ? null : inactive,
        };
      });
    },
  },
];
