import type { QueryRunner } from 'typeorm';
import type { AuditedDelivery, EndpointId, OrgId, Seq } from '#libs/domain';
import { eachDay, scan, type DayProgress, type RowRange } from '../projections/days/day-ranges.js';
import { DELIVERY_COLUMNS, DELIVERY_MEMBERS, type DeliveryColumn } from '../projections/delivery-row.js';
import { RowShape, valueOf } from '../projections/row-shape.js';
import { seen } from '../projections/seen-deliveries.js';
import type { Store } from '../connection/store.js';

/** A delivery whose row in the delivery log is missing or differs from its facts. */
export interface DeliveryMismatch {
  readonly delivery: AuditedDelivery;
  /** `row` if the row is missing, `attempts_log` if the number of attempts differs. */
  readonly columns: readonly (DeliveryColumn | 'row' | 'attempts_log')[];
}

/** Selects the rows to count. */
export interface WantedDeliveries {
  /** Only events that were appended at this time or later, in epoch milliseconds. */
  readonly sinceMs: number;
  readonly fromSeq: Seq;
  /** `null` for all. */
  readonly orgId: OrgId | null;
}

/** The delivery log at one moment, and the offsets up to which it has folded the facts. */
export interface DeliveryLogSnapshot {
  /** The offset after its last fact, by partition. */
  readonly offsets: ReadonlyMap<number, number>;
  /** Compares the deliveries with their rows. Leaves out deleted endpoints, which have no rows. */
  mismatches(deliveries: readonly AuditedDelivery[]): Promise<readonly DeliveryMismatch[]>;
  /** Returns the number of rows of each endpoint that is not deleted. */
  rowsByEndpoint(wanted: WantedDeliveries, progress?: DayProgress): Promise<ReadonlyMap<EndpointId, number>>;
  /** Returns those of the endpoints that are not deleted. */
  present(endpoints: readonly EndpointId[]): Promise<ReadonlySet<EndpointId>>;
}

const EXPECTED = new RowShape<AuditedDelivery>([
  ...DELIVERY_COLUMNS,
  ['attempts_made', 'int', ({ attemptsMade }) => attemptsMade],
]);
const CREATED_AT = valueOf('expected.created_at', 'ms');

const differs = DELIVERY_MEMBERS.filter(([name]) => name !== 'id' && name !== 'created_at').map(
  ([name, type]) => `case when ${seen(name)} is distinct from ${valueOf(`expected.${name}`, type)} then '${name}' end`,
);

const MISMATCHES = `
  select place, columns from (
    select expected.place, case when d.id is null then array['row'] else array_remove(array[
      ${differs.join(',\n      ')},
      case when expected.attempts_made <> (
        select count(*) from delivery_attempts a
        where a.delivery_id = expected.id and a.delivery_created_at = ${CREATED_AT}
      ) then 'attempts_log' end
    ], null) end as columns
    from unnest(${EXPECTED.arrays(1)}) with ordinality as expected(${EXPECTED.names}, place)
    join endpoints on endpoints.id = expected.endpoint_id
    left join deliveries d on d.id = expected.id and d.created_at = ${CREATED_AT}
    left join endpoint_endings n on n.endpoint_id = expected.endpoint_id
  ) compared where cardinality(columns) > 0 order by place`;

/** Compares the delivery log with a fold of the delivery facts. It changes nothing. */
export class DeliveryLogAudit {
  constructor(private readonly store: Store) {}

  /** Runs `act` with a snapshot: all its queries see the same moment. */
  async atOneMoment<T>(topic: string, act: (snapshot: DeliveryLogSnapshot) => Promise<T>): Promise<T> {
    return this.store.snapshot(async (runner) => {
      const rows = (await runner.query(
        `select partition, next_offset from projection_offsets where projection = 'deliveries' and topic = $1`,
        [topic],
      )) as { partition: number; next_offset: string }[];
      return act({
        offsets: new Map(rows.map((row) => [row.partition, Number(row.next_offset)])),
        mismatches: (deliveries) => mismatches(runner, deliveries),
        rowsByEndpoint: (wanted, progress) => rowsByEndpoint(runner, wanted, progress),
        present: (endpoints) => present(runner, endpoints),
      });
    });
  }
}

async function mismatches(
  runner: QueryRunner,
  deliveries: readonly AuditedDelivery[],
): Promise<readonly DeliveryMismatch[]> {
  const rows = (await runner.query(MISMATCHES, [...EXPECTED.parameters(deliveries)])) as {
    place: string;
    columns: DeliveryMismatch['columns'];
  }[];
  return rows.flatMap(({ place, columns }) => {
    const delivery = deliveries[Number(place) - 1];
    return delivery === undefined ? [] : [{ delivery, columns }];
  });
}

async function rowsByEndpoint(
  runner: QueryRunner,
  { sinceMs, fromSeq, orgId }: WantedDeliveries,
  progress?: DayProgress,
): Promise<ReadonlyMap<EndpointId, number>> {
  const rows = new Map<EndpointId, number>();
  await eachDay([runner], { name: 'deliveries', day: 'created_at' }, { sinceMs, progress }, async (range) => {
    const ofDay =
      orgId === null ? await rowsOfAll(runner, range, fromSeq) : await rowsOfOrg(runner, range, fromSeq, orgId);
    for (const { endpoint_id: id, rows: count } of ofDay) rows.set(id, (rows.get(id) ?? 0) + count);
  });
  return rows;
}

interface EndpointRows {
  readonly endpoint_id: EndpointId;
  readonly rows: number;
}

async function rowsOfAll(
  runner: QueryRunner,
  { sql, parameters }: RowRange,
  fromSeq: Seq,
): Promise<readonly EndpointRows[]> {
  return scan(
    runner,
    `select endpoint_id, count(*)::int as rows from deliveries
     where ${sql} and seq >= $${parameters.length + 1} and exists (select from endpoints where id = endpoint_id)
     group by endpoint_id`,
    [...parameters, fromSeq],
  );
}

/** Counts by the index of each endpoint. */
async function rowsOfOrg(
  runner: QueryRunner,
  { sql, parameters }: RowRange,
  fromSeq: Seq,
  orgId: OrgId,
): Promise<EndpointRows[]> {
  const place = parameters.length;
  return (await runner.query(
    `select e.id as endpoint_id, d.rows from endpoints e
     cross join lateral (
       select count(*)::int as rows from deliveries where endpoint_id = e.id and ${sql} and seq >= $${place + 1}
     ) d
     where e.org_id = $${place + 2} and d.rows > 0`,
    [...parameters, fromSeq, orgId],
  )) as EndpointRows[];
}

async function present(runner: QueryRunner, endpoints: readonly EndpointId[]): Promise<ReadonlySet<EndpointId>> {
  const rows = (await runner.query('select id from endpoints where id = any($1)', [endpoints])) as {
    id: EndpointId;
  }[];
  return new Set(rows.map(({ id }) => id));
}
