import type { QueryRunner } from 'typeorm';
import {
  EXHAUSTED_WINDOW_MS,
  minuteOf,
  operationalFactsId,
  type Attempted,
  type EndpointId,
  type JsonObject,
  type OperationalEventType,
  type OrgId,
} from '#libs/domain';

/** What happened to an endpoint, as it is noted in the transaction in which it happens. */
interface Happening {
  readonly event: OperationalEventType;
  readonly orgId: OrgId;
  readonly endpointId: EndpointId;
  readonly atMs: number;
  readonly facts: JsonObject;
}

/** Notes it unless it is noted already. */
async function note(runner: QueryRunner, { event, orgId, endpointId, atMs, facts }: Happening): Promise<void> {
  // Requests may not read the table, so they do not name a conflict target: that would need the right to select.
  await runner.query(
    `insert into operational_events (id, org_id, endpoint_id, event, occurred_at, due_at, data)
     values ($1, $2, $3, $4, $5, $5, $6) on conflict do nothing`,
    [operationalFactsId(event, endpointId, facts), orgId, endpointId, event, new Date(atMs), JSON.stringify(facts)],
  );
}

/** Notes that the endpoint became inactive, or active again. */
export async function noteActivity(
  runner: QueryRunner,
  endpoint: { readonly orgId: OrgId; readonly endpointId: EndpointId; readonly activation: number },
  change: { readonly becomes: 'enabled' } | { readonly becomes: 'disabled'; readonly reason: string },
  atMs: number,
): Promise<void> {
  const { activation, ...ids } = endpoint;
  const facts = change.becomes === 'enabled' ? { activation } : { activation, reason: change.reason };
  await note(runner, { ...ids, event: `endpoint.${change.becomes}`, atMs, facts });
}

/** Notes that the attempt was the failure in a row that reaches half of the limit. */
export async function noteFailing(runner: QueryRunner, fact: Attempted, failureCount: number): Promise<void> {
  const { orgId, endpointId, deliveryId } = fact.delivery;
  await note(runner, {
    event: 'endpoint.failing',
    orgId,
    endpointId,
    atMs: fact.startedAtMs + fact.durationMs,
    facts: {
      activation: fact.activation,
      delivery_id: deliveryId,
      run: fact.run,
      attempt: fact.attempt,
      failure_count: failureCount,
      response_status: fact.responseStatus,
      last_error: fact.error,
    },
  });
}

/** Attempts end a little before their facts are folded; so long after its end, a minute still takes them. */
const GRACE = '5s';

/**
 * Counts deliveries that used up their attempts into the row of their endpoint and minute. What comes after the row was
 * closed counts for the next minute, so that there is never a second event of one minute.
 * @param exhausted facts of one endpoint and minute, at least one
 */
async function countExhausted(runner: QueryRunner, exhausted: readonly [Attempted, ...Attempted[]]): Promise<void> {
  const last = exhausted.at(-1) ?? exhausted[0];
  const { orgId, endpointId, deliveryId, eventId, event, seq } = last.delivery;
  const endedAtMs = last.startedAtMs + last.durationMs;
  const about = {
    delivery_id: deliveryId,
    event_id: eventId,
    event,
    seq,
    response_status: last.responseStatus,
    last_error: last.error,
  };
  for (let minuteMs = minuteOf(endedAtMs); ; minuteMs += EXHAUSTED_WINDOW_MS) {
    const facts = { minute: new Date(minuteMs).toISOString(), last: about };
    const id = operationalFactsId('delivery.exhausted', endpointId, facts);
    const overAt = new Date(minuteMs + EXHAUSTED_WINDOW_MS);
    // Neither statement waits for the process that publishes closed rows.
    const [, counted] = (await runner.query(
      `update operational_events set count = count + $2, data = $3, occurred_at = greatest(occurred_at, $4)
       where id = $1 and closed_at is null`,
      [id, exhausted.length, JSON.stringify(facts), new Date(endedAtMs)],
    )) as [unknown, number];
    if (counted > 0) return;
    const inserted = (await runner.query(
      `insert into operational_events (id, org_id, endpoint_id, event, occurred_at, due_at, count, data)
       values ($1, $2, $3, 'delivery.exhausted', $4, greatest($5, clock_timestamp()) + interval '${GRACE}', $6, $7) on conflict do nothing returning id`,
      [id, orgId, endpointId, new Date(endedAtMs), overAt, exhausted.length, JSON.stringify(facts)],
    )) as unknown[];
    if (inserted.length > 0) return;
  }
}

/** Notes deliveries that used up their attempts, in the order of their facts. */
export async function noteExhausted(runner: QueryRunner, exhausted: readonly Attempted[]): Promise<void> {
  const byMinute = new Map<string, [Attempted, ...Attempted[]]>();
  for (const fact of exhausted) {
    const key = `${fact.delivery.endpointId}/${minuteOf(fact.startedAtMs + fact.durationMs)}`;
    const others = byMinute.get(key);
    if (others === undefined) byMinute.set(key, [fact]);
    else others.push(fact);
  }
  for (const ofMinute of byMinute.values()) await countExhausted(runner, ofMinute);
}
