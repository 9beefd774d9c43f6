import type { QueryRunner } from 'typeorm';
import {
  seqFromText,
  type DeliveryId,
  type DeliveryRef,
  type DeliveryStatus,
  type EndpointId,
  type EventId,
  type OrgId,
  type Seq,
} from '#libs/domain';
import type { Store } from './store.js';

/** A stored delivery (spec 2.5), with what a replay of it needs. */
export interface DeliveryRecord extends DeliveryRef {
  readonly run: number;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly responseStatus: number | null;
  readonly lastError: string | null;
  readonly nextAttemptAt: Date | null;
  readonly deliveredAt: Date | null;
}

/** One attempt of the `attempts_log` (decisions, section 3). */
export interface AttemptLogEntry {
  readonly run: number;
  readonly attempt: number;
  readonly at: Date;
  readonly durationMs: number;
  readonly responseStatus: number | null;
  readonly error: string | null;
  readonly responseExcerpt: string | null;
}

/** A place between two deliveries of the list: behind this one, to older ones. */
export interface DeliveryPlace {
  readonly createdAtMs: number;
  readonly seq: Seq;
}

interface DeliveryRow {
  readonly id: DeliveryId;
  readonly org_id: OrgId;
  readonly endpoint_id: EndpointId;
  readonly event_id: EventId;
  readonly event_type: string;
  readonly seq: string;
  readonly created_at: Date;
  readonly run: number;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly response_status: number | null;
  readonly last_error: string | null;
  readonly next_attempt_at: Date | null;
  readonly delivered_at: Date | null;
}

const COLUMNS = `id, org_id, endpoint_id, event_id, event_type, seq, created_at, run, status, attempts, response_status,
  last_error, next_attempt_at, delivered_at`;

function toRecord(row: DeliveryRow): DeliveryRecord {
  return {
    deliveryId: row.id,
    orgId: row.org_id,
    endpointId: row.endpoint_id,
    eventId: row.event_id,
    event: row.event_type,
    seq: seqFromText(row.seq),
    createdAtMs: row.created_at.getTime(),
    run: row.run,
    status: row.status,
    attempts: row.attempts,
    responseStatus: row.response_status,
    lastError: row.last_error,
    nextAttemptAt: row.next_attempt_at,
    deliveredAt: row.delivered_at,
  };
}

/** Reads the delivery log of an org's endpoints. */
export class DeliveryLog {
  constructor(private readonly store: Store) {}

  /** Newest first: by the time the event was appended, then by seq. */
  async list(
    orgId: OrgId,
    endpointId: EndpointId,
    query: { readonly status?: DeliveryStatus; readonly after?: DeliveryPlace; readonly limit: number },
  ): Promise<readonly DeliveryRecord[]> {
    const parameters: unknown[] = [endpointId, query.limit];
    const filters: string[] = [];
    if (query.status !== undefined) filters.push(`and status = $${parameters.push(query.status)}`);
    if (query.after !== undefined) {
      const time = parameters.push(query.after.createdAtMs);
      filters.push(`and (created_at, seq) < (to_timestamp($${time} / 1000.0), $${parameters.push(query.after.seq)})`);
    }
    return this.store.forOrg(orgId, async (runner) => {
      const rows = (await runner.query(
        `select ${COLUMNS} from deliveries where endpoint_id = $1 ${filters.join(' ')}
         order by created_at desc, seq desc limit $2`,
        parameters,
      )) as DeliveryRow[];
      return rows.map(toRecord);
    });
  }

  async find(orgId: OrgId, endpointId: EndpointId, id: DeliveryId): Promise<DeliveryRecord | undefined> {
    return this.store.forOrg(orgId, (runner) => find(runner, endpointId, id));
  }

  /** The stored bytes of an event that was appended since then; `undefined` for one that retention has removed. */
  async keptEnvelope(orgId: OrgId, seq: Seq, since: Date): Promise<Buffer | undefined> {
    return this.store.forOrg(orgId, async (runner) => {
      const [event] = (await runner.query(
        'select envelope from events where org_id = $1 and seq = $2 and appended_at >= $3',
        [orgId, seq, since],
      )) as { envelope: Buffer }[];
      return event?.envelope;
    });
  }

  /**
   * A delivery with all of its attempts, earlier runs included, and its envelope's JSON text if that was appended since
   * `keptSince`: what is past retention is not shown, whether or not it is dropped yet.
   */
  async findWhole(
    orgId: OrgId,
    endpointId: EndpointId,
    id: DeliveryId,
    keptSince: Date,
  ): Promise<
    | {
        readonly delivery: DeliveryRecord;
        readonly attemptsLog: readonly AttemptLogEntry[];
        readonly envelope: string | null;
      }
    | undefined
  > {
    return this.store.forOrg(orgId, async (runner) => {
      const delivery = await find(runner, endpointId, id);
      if (delivery === undefined) return undefined;
      const attempts = (await runner.query(
        `select run, attempt, started_at, duration_ms, response_status, error, response_excerpt
         from delivery_attempts
         where delivery_id = $1 and delivery_created_at = to_timestamp($2 / 1000.0) order by run, attempt`,
        [id, delivery.createdAtMs],
      )) as {
        run: number;
        attempt: number;
        started_at: Date;
        duration_ms: number;
        response_status: number | null;
        error: string | null;
        response_excerpt: string | null;
      }[];
      const [event] = (await runner.query(
        `select convert_from(envelope, 'UTF8') as envelope from events
         where org_id = $1 and seq = $2 and appended_at >= $3`,
        [orgId, delivery.seq, keptSince],
      )) as { envelope: string }[];
      return {
        delivery,
        envelope: event?.envelope ?? null,
        attemptsLog: attempts.map((row) => ({
          run: row.run,
          attempt: row.attempt,
          at: row.started_at,
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
  const [row] = (await runner.query(`select ${COLUMNS} from deliveries where id = $1 and endpoint_id = $2`, [
    id,
    endpointId,
  ])) as DeliveryRow[];
  return row === undefined ? undefined : toRecord(row);
}
