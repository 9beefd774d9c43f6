import type { EntityManager } from 'typeorm';
import type { NewEvent } from '../events/new-event.js';
import { readyEvent } from '../events/ready-event.js';

/**
 * Writes an event to the outbox in the transaction of `manager`. If the transaction commits, an `OutboxRelay` emits the
 * event; otherwise nothing does.
 * @returns the id of the event
 * @throws InvalidEventError
 * @throws Error when `manager` has no transaction: the event could be emitted without the change that it describes
 */
export async function emitInTransaction(manager: EntityManager, event: NewEvent): Promise<string> {
  if (manager.queryRunner?.isTransactionActive !== true) {
    throw new Error('emitInTransaction needs the manager of a transaction: dataSource.transaction((manager) => …)');
  }
  const { id, orgId, json } = readyEvent(event);
  await manager.query('insert into gapless_outbox (event_id, org_id, event) values ($1, $2, $3)', [id, orgId, json]);
  return id;
}
