import type { DeliveryId, EndpointId, EventId, OrgId, Seq } from '#libs/domain';
import { moveOffset } from './offset-rows.js';
import type { Row } from './statement.js';
import type { Meaning } from './statements.js';
import { targetOf, type DeliveryRow, type EventRow, type Tables } from './tables.js';

/** @param before the stored row, whose lane and urgency do not change, nor the event before it once it is named */
function deliveryOf(row: Row, before: DeliveryRow | undefined): DeliveryRow {
  const lane = before === undefined ? (row['lane'] as number | null) : (before.ref.lane ?? null);
  const previousSeq = before?.ref.previousSeq ?? (row['previous_seq'] as number | null);
  const isUrgent = before === undefined ? row['is_urgent'] === true : before.ref.isUrgent === true;
  return {
    ref: {
      deliveryId: row['id'] as DeliveryId,
      endpointId: row['endpoint_id'] as EndpointId,
      orgId: row['org_id'] as OrgId,
      eventId: row['event_id'] as EventId,
      event: String(row['event_type']),
      seq: Number(row['seq']) as Seq,
      createdAtMs: Number(row['created_at']),
      ...(lane === null ? {} : { lane }),
      ...(isUrgent ? { isUrgent } : {}),
      ...(previousSeq === null ? {} : { previousSeq }),
    },
    endings: Number(row['endings']),
    run: Number(row['run']),
    status: String(row['status']),
    attempts: Number(row['attempts']),
    response_status: row['response_status'] as number | null,
    last_error: row['last_error'] as string | null,
    next_attempt_at_ms: row['next_attempt_at'] as number | null,
    delivered_at_ms: row['delivered_at'] as number | null,
  };
}

function isPresent(tables: Tables, row: Row): boolean {
  return tables.endpoints.get(String(row['endpoint_id'])) !== undefined;
}

function isDueBefore(tables: Tables, row: DeliveryRow, beforeMs: number): boolean {
  return tables.statusOf(row) === 'pending' && (row.next_attempt_at_ms ?? Infinity) < beforeMs;
}

/** The dispatcher makes first attempts at any time, whatever the clocks say. */
function dueBefore(sql: string, { attempts }: DeliveryRow, before: unknown): number {
  return attempts === 0 && sql.includes('is_ahead') ? Infinity : Number(before);
}

/** The event of a delivery, whichever copy the feed has. */
function eventOf(tables: Tables, orgId: unknown, seq: unknown, createdAtMs: number): EventRow | undefined {
  return (
    tables.events.get(`${String(orgId)}/${String(seq)}/${createdAtMs}`) ??
    tables.events.values().find((event) => event.org_id === orgId && event.seq === Number(seq))
  );
}

/** Whether the statement looks for such a delivery. One in a lane is left out while its endpoint is ordered and active. */
function looksFor(tables: Tables, sql: string, row: DeliveryRow): boolean {
  if (isUrgent(row)) return sql.includes('and is_urgent and run = 0');
  if (!waitsForTurn(row)) return sql.includes('(is_urgent is null or run > 0)');
  const endpoint = tables.endpoints.get(row.ref.endpointId);
  const waits = endpoint !== undefined && endpoint.is_active && endpoint.ordered_since !== null;
  return !waits && sql.includes('and lane is not null and run = 0');
}

function waitsForTurn({ ref, run }: DeliveryRow): boolean {
  return ref.lane !== undefined && run === 0;
}

function isUrgent({ ref, run }: DeliveryRow): boolean {
  return ref.isUrgent === true && run === 0;
}

/** Deliveries and their attempts. */
export const DELIVERY_STATEMENTS: readonly Meaning[] = [
  {
    name: 'load facts',
    domain: 'deliveries',
    sign: /json_agg\(a\.delivery_id/,
    act: (tables, statement, parameters) => {
      const endpointIds = parameters[0] as readonly string[];
      return [
        {
          endpoints: endpointIds.filter((id) => tables.endpoints.get(id) !== undefined),
          health: endpointIds.flatMap((id) => tables.health.get(id) ?? []),
          endings: endpointIds.flatMap((endpointId) => {
            const endings = tables.endings.get(endpointId);
            return endings === undefined ? [] : [{ endpointId, endings }];
          }),
          deliveries: statement.rowsOf(parameters, 'wanted').flatMap(({ id }) => {
            const found = tables.deliveries.get(String(id));
            if (found === undefined) return [];
            return [
              {
                id,
                endings: found.endings,
                run: found.run,
                status: found.status,
                attempts: found.attempts,
                responseStatus: found.response_status,
                lastError: found.last_error,
                nextAttemptAtMs: found.next_attempt_at_ms,
                deliveredAtMs: found.delivered_at_ms,
              },
            ];
          }),
          attempts: statement
            .rowsOf(parameters, 'made')
            .map(({ id, run, attempt }) => `${String(id)}/${String(run)}/${String(attempt)}`)
            .filter((key) => tables.attempts.get(key) !== undefined),
        },
      ];
    },
  },
  {
    name: 'apply facts',
    domain: 'deliveries',
    sign: /insert into delivery_attempts/,
    act: (tables, statement, parameters) => {
      if (!moveOffset(tables, statement, parameters)) return [{ moved: '0' }];
      for (const row of statement.rowsOf(parameters, 'attempt')) {
        if (!isPresent(tables, row)) continue;
        const key = `${String(row['delivery_id'])}/${String(row['run'])}/${String(row['attempt'])}`;
        if (tables.attempts.get(key) !== undefined) throw new Error(`attempt ${key} is written twice`);
        tables.attempts.set(key, row['delivery_id'] as DeliveryId);
      }
      for (const row of statement.rowsOf(parameters, 'delivery')) {
        const id = String(row['id']);
        if (isPresent(tables, row)) tables.deliveries.set(id, deliveryOf(row, tables.deliveries.get(id)));
      }
      for (const row of statement.rowsOf(parameters, 'health')) {
        if (!isPresent(tables, row)) continue;
        tables.health.set(String(row['endpoint_id']), {
          endpointId: row['endpoint_id'],
          orgId: row['org_id'],
          activation: row['activation'],
          endedActivation: row['ended_activation'],
          endedAtMs: row['ended_at'],
          failureCount: row['failure_count'],
          lastTriggeredAtMs: row['last_triggered_at'],
          lastSuccessAtMs: row['last_success_at'],
          lastFailureAtMs: row['last_failure_at'],
          lastError: row['last_error'],
        });
      }
      for (const row of statement.rowsOf(parameters, 'ending')) {
        if (isPresent(tables, row)) tables.endings.set(String(row['endpoint_id']), Number(row['endings']));
      }
      return [{ moved: '1' }];
    },
  },
  {
    name: 'router place',
    domain: null,
    sign: /from router_places where topic = \$1 and partition = \$2/,
    act: (tables, _statement, [topic, partition]) => {
      const place = tables.routerPlaces.get(`${String(topic)}/${String(partition)}`);
      if (place === undefined) return [];
      return [{ next_offset: String(place.next_offset), appended_until_ms: String(place.appended_until_ms) }];
    },
  },
  {
    name: 'save router places',
    domain: null,
    sign: /insert into router_places/,
    act: (tables, statement, parameters) => {
      for (const row of statement.rowsOf(parameters, 'row')) {
        const key = `${String(parameters[0])}/${String(row['partition'])}`;
        const place = { next_offset: Number(row['next_offset']), appended_until_ms: Number(row['appended_ms']) };
        const before = tables.routerPlaces.get(key);
        if ((before?.appended_until_ms ?? 0) <= place.appended_until_ms) tables.routerPlaces.set(key, place);
      }
      return [];
    },
  },
  {
    name: 'take paced partitions',
    domain: null,
    sign: /update paced_owners set owner = \$1, has_left = false/,
    act: (tables, _statement, [owner, topic, partitions]) =>
      (partitions as readonly number[]).flatMap((partition) => {
        const key = `${String(topic)}/${partition}`;
        const row = tables.pacedOwners.get(key);
        if (row === undefined || !(row.has_left || row.owner === owner)) return [];
        tables.pacedOwners.set(key, { owner: String(owner), has_left: false });
        return [{ partition }];
      }),
  },
  {
    name: 'seize paced partitions',
    domain: null,
    sign: /insert into paced_owners/,
    act: (tables, _statement, [owner, topic, partitions]) =>
      (partitions as readonly number[]).flatMap((partition) => {
        const key = `${String(topic)}/${partition}`;
        const row = tables.pacedOwners.get(key);
        if (row?.owner === owner && !row?.has_left) return [];
        tables.pacedOwners.set(key, { owner: String(owner), has_left: false });
        return [{ partition }];
      }),
  },
  {
    name: 'leave paced partitions',
    domain: null,
    sign: /update paced_owners set has_left = true/,
    act: (tables, _statement, [owner, topic, partitions]) => {
      for (const partition of partitions as readonly number[]) {
        const key = `${String(topic)}/${partition}`;
        const row = tables.pacedOwners.get(key);
        if (row !== undefined && row.owner === owner) tables.pacedOwners.set(key, { ...row, has_left: true });
      }
      return [];
    },
  },
  {
    name: 'look up attempts',
    domain: null,
    sign: /with ordinality as due\(endpoint_id, delivery_id, created_ms, reads_headers, place\)/,
    act: (tables, statement, parameters) =>
      statement.rowsOf(parameters, 'due').map(({ endpoint_id, delivery_id }) => {
        const endpoint = tables.endpoints.get(String(endpoint_id));
        const delivery = tables.deliveries.get(String(delivery_id));
        return {
          ...targetOf(endpoint),
          subscription_id: null,
          is_active: endpoint?.is_active ?? null,
          run: delivery?.run ?? null,
          attempts: delivery?.attempts ?? null,
          status: delivery?.status ?? null,
          is_ended: delivery !== undefined && delivery.status === 'pending' && tables.statusOf(delivery) !== 'pending',
        };
      }),
  },
  {
    name: 'overdue endpoints',
    domain: null,
    sign: /as is_overdue/,
    act: (tables, _statement, [before, after, limit]) => {
      const overdue = new Map<string, boolean>();
      for (const row of tables.deliveries.values()) {
        const { endpointId } = row.ref;
        if (row.status !== 'pending' || endpointId <= String(after)) continue;
        const endpoint = tables.endpoints.get(endpointId);
        const mayWait = endpoint?.is_paced === true && endpoint.is_active;
        const isOverdue = endpoint !== undefined && !mayWait && isDueBefore(tables, row, Number(before));
        overdue.set(endpointId, isOverdue || overdue.get(endpointId) === true);
      }
      return [...overdue]
        .map(([id, is_overdue]) => ({ id, is_overdue }))
        .sort((one, other) => (one.id < other.id ? -1 : 1))
        .slice(0, Number(limit));
    },
  },
  {
    name: 'few pending endpoints',
    domain: null,
    sign: /select id from pending where id is not null limit/,
    act: (tables, _statement, [limit]) => {
      const pending = [...tables.deliveries.values()].filter(({ status }) => status === 'pending');
      const ids = new Set(pending.map(({ ref }) => ref.endpointId));
      return [...ids]
        .sort()
        .slice(0, Number(limit))
        .map((id) => ({ id }));
    },
  },
  {
    name: 'pending endpoints',
    domain: null,
    sign: /select id from walked where id is not null/,
    act: (tables, _statement, [asked]) => {
      const pending = [...tables.deliveries.values()].filter(({ status }) => status === 'pending');
      const ids = new Set(pending.map(({ ref }) => ref.endpointId));
      return (asked as EndpointId[]).filter((id) => ids.has(id)).map((id) => ({ id }));
    },
  },
  {
    name: 'overdue attempts',
    domain: null,
    sign: /as wanted\(id\)\s+left join endpoint_endings/,
    act: (tables, { sql }, [endpoints, before, limit]) =>
      (endpoints as readonly string[]).flatMap((endpointId) =>
        [...tables.deliveries.values()]
          .filter((row) => row.ref.endpointId === endpointId && isDueBefore(tables, row, dueBefore(sql, row, before)))
          .filter((row) => looksFor(tables, sql, row))
          .sort(
            (one, other) =>
              (one.next_attempt_at_ms ?? 0) - (other.next_attempt_at_ms ?? 0) || one.ref.seq - other.ref.seq,
          )
          .slice(0, Number(limit))
          .map(({ ref, run, attempts }) => ({
            id: ref.deliveryId,
            endpoint_id: endpointId,
            created_at: new Date(ref.createdAtMs),
            run,
            attempts,
            is_urgent: ref.isUrgent ?? null,
          })),
      ),
  },
  {
    name: 'attempts still due',
    domain: null,
    sign: /as suspect\(id/,
    act: (tables, statement, parameters) =>
      statement.rowsOf(parameters, 'suspect').flatMap((suspect, index) => {
        const row = tables.deliveries.get(String(suspect['id']));
        if (row === undefined || tables.statusOf(row) !== 'pending') return [];
        const { ref, run, attempts } = row;
        const isThere = tables.endpoints.get(ref.endpointId) !== undefined;
        if (!isThere || run !== suspect['run'] || attempts !== suspect['attempts']) return [];
        return [
          {
            place: index + 1,
            id: ref.deliveryId,
            org_id: ref.orgId,
            endpoint_id: ref.endpointId,
            event_id: ref.eventId,
            event_type: ref.event,
            seq: String(ref.seq),
            created_at: new Date(ref.createdAtMs),
            run,
            attempts,
            next_attempt_at: new Date(row.next_attempt_at_ms ?? 0),
            is_urgent: ref.isUrgent ?? null,
            previous_seq: ref.previousSeq === undefined ? null : String(ref.previousSeq),
          },
        ];
      }),
  },
  {
    name: 'envelopes of attempts still due',
    domain: null,
    sign: /as asked\(org_id, seq, appended_at, at\)/,
    act: (tables, statement, parameters) => {
      let bytes = 0;
      return statement.rowsOf(parameters, 'asked').flatMap(({ org_id, seq, appended_at }, at) => {
        const event = eventOf(tables, org_id, seq, (appended_at as Date).getTime());
        if (event === undefined) return [];
        const hasRoom = bytes < Number(parameters[3]);
        bytes += event.envelope.length;
        return [{ at, envelope: hasRoom ? event.envelope : null }];
      });
    },
  },
  {
    name: 'ordered deliveries',
    domain: null,
    sign: /as asked\(place, endpoint_id, lane, after, most\)/,
    act: (tables, statement, parameters) =>
      statement.rowsOf(parameters, 'asked').flatMap(({ place, endpoint_id, lane, after, most }) =>
        [...tables.deliveries.values()]
          .filter(
            (row) => row.ref.endpointId === endpoint_id && tables.statusOf(row) === 'pending' && waitsForTurn(row),
          )
          .filter(({ ref }) => (lane === null || ref.lane === lane) && ref.seq > Number(after))
          .sort((one, other) => one.ref.seq - other.ref.seq)
          .slice(0, Number(most))
          .map(({ ref, attempts, next_attempt_at_ms }) => ({
            place,
            id: ref.deliveryId,
            org_id: ref.orgId,
            endpoint_id: ref.endpointId,
            event_id: ref.eventId,
            event_type: ref.event,
            seq: String(ref.seq),
            created_at: new Date(ref.createdAtMs),
            lane: ref.lane,
            previous_seq: ref.previousSeq === undefined ? null : String(ref.previousSeq),
            attempts,
            next_attempt_at: new Date(next_attempt_at_ms ?? 0),
          })),
      ),
  },
  {
    name: 'ordered envelopes',
    domain: null,
    sign: /as asked\(org_id, seq, appended_at, nth, place\)/,
    act: (tables, statement, parameters) =>
      statement.rowsOf(parameters, 'asked').flatMap(({ org_id, seq, appended_at, nth, place }) => {
        const event = eventOf(tables, org_id, seq, (appended_at as Date).getTime());
        return event === undefined ? [] : [{ nth, place, envelope: event.envelope }];
      }),
  },
  {
    name: 'previous seqs',
    domain: null,
    sign: /as chained\(endpoint_id, seq, created_ms, partition, place\)/,
    act: (tables, statement, parameters) =>
      statement.rowsOf(parameters, 'chained').map(({ endpoint_id, seq, created_ms, partition }) => {
        const [topic, withinMs] = [String(parameters[4]), Number(parameters[5])];
        const seqs = [...tables.deliveries.values()]
          .filter(({ ref }) => ref.endpointId === endpoint_id && ref.seq < Number(seq) && ref.previousSeq !== undefined)
          .filter(({ ref }) => ref.createdAtMs >= Number(created_ms) - withinMs)
          .map(({ ref }) => ref.seq);
        const reached = tables.offsets.get(`deliveries ${topic}/${String(partition)}`)?.next_offset;
        return {
          previous_seq: seqs.length === 0 ? null : String(Math.max(...seqs)),
          projected_to: reached === undefined ? null : String(reached),
        };
      }),
  },
  {
    name: 'deliveries without a lane',
    domain: null,
    sign: /select asked\.id from unnest\(\$1::text\[\]\) as asked\(id\)/,
    act: (tables, _statement, [endpoints]) =>
      (endpoints as readonly string[])
        .filter((id) =>
          [...tables.deliveries.values()].some(
            (row) =>
              row.ref.endpointId === id &&
              tables.statusOf(row) === 'pending' &&
              row.ref.lane === undefined &&
              row.run === 0 &&
              row.attempts === 0,
          ),
        )
        .map((id) => ({ id })),
  },
];
