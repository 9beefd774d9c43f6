/** The most attempts of a delivery that are read. Each replay adds some, and nothing else bounds their number. */
const ATTEMPTS_READ = 1_000;

/** SQL for the latest attempts of a delivery, the last one first. @param deliveryId and `createdAt` SQL, too */
export function latestAttempts(columns: string, deliveryId: string, createdAt: string): string {
  return `
    select ${columns} from delivery_attempts
    where delivery_id = ${deliveryId} and delivery_created_at = ${createdAt}
    order by run desc, attempt desc limit ${ATTEMPTS_READ}`;
}

/**
 * SQL for when the last attempt of all runs ended, by the log's times; null before the first. The latest attempts are
 * enough, since each run begins after the attempts that the log had before.
 */
export function lastAttemptEnd(deliveryId: string, createdAt: string): string {
  return `
    select max(started_at + duration_ms * interval '1 ms')
    from (${latestAttempts('started_at, duration_ms', deliveryId, createdAt)}) latest`;
}
