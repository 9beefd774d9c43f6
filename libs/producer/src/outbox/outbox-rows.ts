import type { EntityManager } from 'typeorm';
import type { ReadyEvent } from '../events/ready-event.js';
import { HTTP_REQUEST } from '../http/http-sink.js';

/** An event that waits in the outbox. */
export interface OutboxRow extends ReadyEvent {
  readonly position: string;
}

const MAX_ORGS = 100;
/** The most events in a batch, over all organizations. */
const MAX_EVENTS = 250;

/**
 * Takes the next events of organizations that no other relay holds, in the order in which they were written. They stay
 * locked until the transaction ends. It leaves out the organizations in `without`: their events could fill the batch each
 * time, and no other event would be sent.
 *
 * They fit into one request, because they are removed together. If the service limits bytes, it could refuse the last of
 * several requests each time, and all events would wait for ever. An event that is larger than a request comes alone.
 *
 * The lock on its first row takes an organization; other relays skip that row. For later rows it waits, because another
 * relay may have taken them before a transaction with an earlier row committed. A relay only waits for rows after its
 * own, so relays cannot deadlock.
 */
export async function takeRows(manager: EntityManager, without: readonly string[]): Promise<readonly OutboxRow[]> {
  // Skips from organization to organization by the index, so that the backlog of one costs nothing.
  const heads = await manager.query<readonly { readonly org_id: string; readonly position: string }[]>(
    `with recursive heads as (
       (select org_id, position from gapless_outbox where refused_at is null order by org_id, position limit 1)
       union all
       select next.org_id, next.position
       from heads, lateral (
         select org_id, position from gapless_outbox
         where refused_at is null and org_id > heads.org_id order by org_id, position limit 1
       ) next
     )
     select org_id, position from gapless_outbox
     where position in (select position from heads) and refused_at is null and org_id <> all($1::uuid[])
     order by position limit ${MAX_ORGS}
     for update skip locked`,
    [without],
  );
  if (heads.length === 0) return [];
  return manager.query<readonly OutboxRow[]>(
    `select event.position, event.event_id as id, event.org_id as "orgId", event.event as json
     from (
       select position, size, sum(size) over (order by position) as bytes
       from (
         select event.position, octet_length(event.event) + 1 as size
         from unnest($1::uuid[], $2::bigint[]) as head (org_id, position)
         join gapless_outbox event on event.org_id = head.org_id and event.position >= head.position
         where event.refused_at is null
         order by event.position limit ${MAX_EVENTS}
       ) waiting
     ) next
     join gapless_outbox event on event.position = next.position
     where (next.bytes <= ${HTTP_REQUEST.bytes} or next.bytes = next.size) and event.refused_at is null
     order by event.position
     for update of event`,
    [heads.map(({ org_id }) => org_id), heads.map(({ position }) => position)],
  );
}

/** Takes the next event of the organization; none if there is no more, or another relay holds the organization. */
export async function takeFirstRow(manager: EntityManager, orgId: string): Promise<readonly OutboxRow[]> {
  return manager.query<readonly OutboxRow[]>(
    `select position, event_id as id, org_id as "orgId", event as json
     from gapless_outbox
     where position = (
       select position from gapless_outbox where org_id = $1 and refused_at is null order by position limit 1
     ) and refused_at is null
     for update skip locked`,
    [orgId],
  );
}

/** Deletes emitted rows. */
export async function removeRows(manager: EntityManager, rows: readonly OutboxRow[]): Promise<void> {
  await manager.query('delete from gapless_outbox where position = any($1)', [rows.map(({ position }) => position)]);
}

/** Marks a row that the service will never accept. It stays with the reason, and does not block others. */
export async function refuseRow(manager: EntityManager, row: OutboxRow, reason: string): Promise<void> {
  await manager.query('update gapless_outbox set refused_at = now(), refusal = $2 where position = $1', [
    row.position,
    reason,
  ]);
}
