import type { EntityManager } from 'typeorm';
import type { ReadyEvent } from '../events/ready-event.js';

/** An event that waits in the outbox. */
export interface OutboxRow extends ReadyEvent {
  readonly position: string;
}

const MAX_ORGS = 100;
/**
 * Of all organizations together: a batch that is sent twice is recognised by its ids, of which the sequencer remembers
 * the last 256 of each organization at least.
 */
const MAX_EVENTS = 250;

/**
 * Takes the next events of organizations that no other relay is at, in the order in which they were written. They stay
 * locked to the end of the transaction.
 *
 * An organization is taken by its first row, which other relays skip; it waits for later rows, which another relay may
 * have taken before a transaction with an earlier row committed. A relay always waits for a later row than its own, so
 * relays never wait for each other in a circle.
 */
export async function takeRows(manager: EntityManager): Promise<readonly OutboxRow[]> {
  // From one organization to the next by the index: a backlog of one of them costs nothing.
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
     where position in (select position from heads) and refused_at is null
     order by position limit ${MAX_ORGS}
     for update skip locked`,
  );
  if (heads.length === 0) return [];
  return manager.query<readonly OutboxRow[]>(
    `select event.position, event.event_id as id, event.org_id as "orgId", event.event as json
     from unnest($1::uuid[], $2::bigint[]) as head (org_id, position)
     join gapless_outbox event on event.org_id = head.org_id and event.position >= head.position
     where event.refused_at is null
     order by event.position limit ${MAX_EVENTS}
     for update of event`,
    [heads.map(({ org_id }) => org_id), heads.map(({ position }) => position)],
  );
}

/** The rows are emitted. */
export async function removeRows(manager: EntityManager, rows: readonly OutboxRow[]): Promise<void> {
  await manager.query('delete from gapless_outbox where position = any($1)', [rows.map(({ position }) => position)]);
}

/** The service will never accept the row: it stays, with the reason, and blocks nothing. */
export async function refuseRow(manager: EntityManager, row: OutboxRow, reason: string): Promise<void> {
  await manager.query('update gapless_outbox set refused_at = now(), refusal = $2 where position = $1', [
    row.position,
    reason,
  ]);
}
