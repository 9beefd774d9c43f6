import type { QueryRunner } from 'typeorm';
import {
  deliveryIdOf,
  type DeliveryId,
  type DeliveryRef,
  type DeliveryState,
  type DeliveryStatus,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
  type WaitedFor,
} from '#libs/domain';
import { DELIVERY_MEMBERS } from '../projections/delivery-row.js';
import { valueRead } from '../projections/row-shape.js';
import { IS_ENDED, seen, SEEN_DELIVERIES } from '../projections/seen-deliveries.js';
import type { Store } from '../connection/store.js';
import { lastAttemptEnd, latestAttempts } from './latest-attempts.js';

/** A stored delivery (contract 3.5), with the members that a replay needs. */
export type DeliveryRecord = DeliveryRef & DeliveryState;

/** One attempt of the `attempts_log` (contract 3.5). */
export interface AttemptLogEntry {
  readonly run: number;
  readonly attempt: number;
  readonly at: Date;
  /** When it was due; `null` if that was not stored. */
  readonly dueAt: Date | null;
  readonly waitedFor: WaitedFor | null;
  /** How far `at` is ahead of the clock that stamped the signatures, milliseconds. */
  readonly leadMs: number;
  /** The seqs of the first and last event of the request, if it was a batch. */
  readonly batch: readonly [first: number, last: number] | null;
  readonly durationMs: number;
  readonly responseStatus: number | null;
  readonly error: string | null;
  readonly responseExcerpt: string | null;
}

/** A delivery with its latest attempts. */
export interface WholeDelivery {
  readonly delivery: DeliveryRecord;
  /** Oldest first, earlier runs included; at most 1,000. */
  readonly attemptsLog: readonly AttemptLogEntry[];
}

/** Where an event was delivered. */
export interface EventDelivery extends DeliveryRecord {
  readonly endpointName: string | null;
  /** The endpoint's current url. */
  readonly url: string;
}

/** A page of the delivery log. */
export interface DeliveryPage {
  readonly deliveries: readonly DeliveryRecord[];
  /** The place after which the next page begins; `null` if there are no more deliveries. */
  readonly next: DeliveryPlace | null;
}

/** Selects deliveries of an endpoint. */
export interface DeliveryQuery {
  readonly status?: DeliveryStatus;
  readonly event?: string;
  /** Only events that were appended at this time or later. */
  readonly since?: Date;
  /** Only events that were appended before this time. */
  readonly until?: Date;
  readonly after?: DeliveryPlace;
  readonly limit: number;
}

/** A place in the list, after which older deliveries follow. */
export interface DeliveryPlace {
  readonly createdAtMs: number;
  readonly seq: Seq;
}

type DeliveryRow = Readonly<Record<(typeof DELIVERY_MEMBERS)[number][0], unknown>>;

const COLUMNS = DELIVERY_MEMBERS.map(([name]) => `${seen(name)} as ${name}`).join(', ');

/**
 * The most deliveries that a page looks at. No index begins with the endpoint and has the event type, because every
 * delivery would pay for it. So a page of one type reads the others, too, and one of pending deliveries those that ended.
 */
const LOOKED_AT = 10_000;

const ATTEMPT_COLUMNS = `run, attempt, started_at, duration_ms, response_status, error, response_excerpt, clock_lead_ms,
  batch_first_seq, batch_last_seq, due_at, waited_for`;

/** Whether rows of the endpoint have ended, and the sweep has not updated all of them. */
const HAS_ENDED_ROWS = '(select settled < endings from endpoint_endings where endpoint_id = $1)';

/**
 * The stored rows that make up each status. Each entry is a range of the index, in the order of the list. Without ended
 * rows, the search for them would read everything that is pending.
 */
const ROWS_OF_STATUS: Readonly<Record<DeliveryStatus, readonly string[]>> = {
  pending: [`d.status = 'pending'`],
  delivered: [`d.status = 'delivered'`],
  failed: [`d.status = 'failed'`, `d.status = 'pending' and ${IS_ENDED} and ${HAS_ENDED_ROWS}`],
};
const ALL_ROWS: readonly string[] = [`d.status = 'pending'`, `d.status = 'delivered'`, `d.status = 'failed'`];

function toRecord(row: DeliveryRow): DeliveryRecord {
  return Object.fromEntries(
    DELIVERY_MEMBERS.map(([name, type, member]) => [member, valueRead(row[name], type)]),
  ) as unknown as DeliveryRecord;
}

/** Reads the delivery log of an org's endpoints. */
export class DeliveryLog {
  constructor(private readonly store: Store) {}

  /**
   * Lists deliveries, newest first: by the time the event was appended, then by seq. A page of one event type, or of
   * pending deliveries, may have less than `limit` before the last one, or none.
   */
  async list(orgId: OrgId, endpointId: EndpointId, query: DeliveryQuery): Promise<DeliveryPage> {
    const { limit, event, status } = query;
    // One more than asked for shows whether there are more.
    const parameters: unknown[] = [endpointId, limit + 1, LOOKED_AT];
    const filters: string[] = [];
    if (query.since !== undefined) filters.push(`and d.created_at >= $${parameters.push(query.since)}`);
    if (query.until !== undefined) filters.push(`and d.created_at < $${parameters.push(query.until)}`);
    if (query.after !== undefined) {
      const time = parameters.push(query.after.createdAtMs);
      filters.push(
        `and (d.created_at, d.seq) < (to_timestamp($${time} / 1000.0), $${parameters.push(query.after.seq)})`,
      );
    }
    const ranges = status === undefined ? ALL_ROWS : ROWS_OF_STATUS[status];
    const selects = ranges.map(
      (rows) => `(select ${COLUMNS} from ${SEEN_DELIVERIES} where d.endpoint_id = $1 and ${rows} ${filters.join(' ')}
         order by d.created_at desc, d.seq desc limit $3)`,
    );
    const wanted = ['true'];
    if (event !== undefined) wanted.push(`event_type = $${parameters.push(event)}`);
    if (status === 'pending') wanted.push(`status = 'pending'`);
    // The last row that is looked at is always read: the next page begins after it.
    const rows = await this.store.forOrg(
      orgId,
      async (runner) =>
        (await runner.query(
          `select * from (
             select *, row_number() over (order by created_at desc, seq desc) as nth
             from (${selects.join(' union all ')}) found
           ) looked
           where nth <= $3 and (${wanted.join(' and ')} or nth = $3) order by created_at desc, seq desc limit $2`,
          parameters,
        )) as (DeliveryRow & { readonly nth: string })[],
    );
    const isWanted = (one: DeliveryRecord) =>
      (event === undefined || one.event === event) && (status === undefined || one.status === status);
    const found = rows.map(toRecord).filter(isWanted);
    const deliveries = found.slice(0, limit);
    if (found.length > limit) return { deliveries, next: deliveries.at(-1) ?? null };
    const last = rows.at(-1);
    return { deliveries, next: last !== undefined && Number(last.nth) === LOOKED_AT ? toRecord(last) : null };
  }

  async find(orgId: OrgId, endpointId: EndpointId, id: DeliveryId): Promise<DeliveryRecord | undefined> {
    return this.store.forOrg(orgId, (runner) => find(runner, endpointId, id));
  }

  /** Finds a delivery to any endpoint of the org. */
  async findAnywhere(orgId: OrgId, id: DeliveryId): Promise<DeliveryRecord | undefined> {
    return this.store.forOrg(orgId, async (runner) => {
      const [row] = (await runner.query(
        `select ${COLUMNS} from ${SEEN_DELIVERIES} join endpoints e on e.id = d.endpoint_id where d.id = $1`,
        [id],
      )) as DeliveryRow[];
      return row === undefined ? undefined : toRecord(row);
    });
  }

  /** Returns the deliveries of an event to existing endpoints, in the order of their registration. */
  async ofEvent(orgId: OrgId, eventId: EventId, appendedAt: Date): Promise<readonly EventDelivery[]> {
    return this.store.forOrg(orgId, async (runner) => {
      const endpoints = (await runner.query(
        `select id, name, url from endpoints where kind = 'webhook' order by created_at, id`,
      )) as {
        id: EndpointId;
        name: string | null;
        url: string;
      }[];
      // A delivery's id follows from the event and the endpoint, so no index by event is needed.
      const rows = (await runner.query(
        `select ${COLUMNS} from ${SEEN_DELIVERIES} where d.id = any($1) and d.created_at = $2`,
        [endpoints.map(({ id }) => deliveryIdOf(eventId, id)), appendedAt],
      )) as DeliveryRow[];
      const byEndpoint = new Map(rows.map(toRecord).map((delivery) => [delivery.endpointId, delivery]));
      return endpoints.flatMap(({ id, name, url }) => {
        const delivery = byEndpoint.get(id);
        return delivery === undefined ? [] : [{ ...delivery, endpointName: name, url }];
      });
    });
  }

  /** Returns when the last attempt of all runs ended, by the log's times; `null` before the first. */
  async lastAttemptEndMs(orgId: OrgId, { deliveryId, createdAtMs }: DeliveryRef): Promise<number | null> {
    return this.store.forOrg(orgId, async (runner) => {
      const [last] = (await runner.query(`select (${lastAttemptEnd('$1', 'to_timestamp($2 / 1000.0)')}) as ended_at`, [
        deliveryId,
        createdAtMs,
      ])) as { ended_at: Date | null }[];
      return last?.ended_at?.getTime() ?? null;
    });
  }

  /** Returns a delivery with its latest 1,000 attempts, earlier runs included. */
  async findWhole(orgId: OrgId, endpointId: EndpointId, id: DeliveryId): Promise<WholeDelivery | undefined> {
    return this.store.forOrg(orgId, async (runner) => {
      const delivery = await find(runner, endpointId, id);
      if (delivery === undefined) return undefined;
      const attempts = (await runner.query(latestAttempts(ATTEMPT_COLUMNS, '$1', 'to_timestamp($2 / 1000.0)'), [
        id,
        delivery.createdAtMs,
      ])) as {
        run: number;
        attempt: number;
        started_at: Date;
        duration_ms: number;
        response_status: number | null;
        error: string | null;
        response_excerpt: string | null;
        clock_lead_ms: string | null;
        batch_first_seq: string | null;
        batch_last_seq: string | null;
        due_at: Date | null;
        waited_for: WaitedFor | null;
      }[];
      return {
        delivery,
        attemptsLog: attempts.toReversed().map((row) => ({
          run: row.run,
          attempt: row.attempt,
          at: row.started_at,
          dueAt: row.due_at,
          waitedFor: row.waited_for,
          leadMs: Number(row.clock_lead_ms ?? 0),
          batch: row.batch_first_seq === null ? null : [Number(row.batch_first_seq), Number(row.batch_last_seq)],
          durationMs: row.duration_ms,
          responseStatus: row.response_status,
          error: row.error,
          responseExcerpt: row.response_excerpt,
        })),
      };
    });
  }
}

async function find(runner: QueryRunner, endpointId: EndpointId, id: DeliveryId): Promise<DeliveryRecord | undefined> {
  const [row] = (await runner.query(
    `select ${COLUMNS} from ${SEEN_DELIVERIES} where d.id = $1 and d.endpoint_id = $2`,
    [id, endpointId],
  )) as DeliveryRow[];
  return row === undefined ? undefined : toRecord(row);
}
