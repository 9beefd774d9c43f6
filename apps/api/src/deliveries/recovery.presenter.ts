import type { RecoveryRecord } from '#libs/postgres';

/** A recovery as the api shows it (contract 4.4). */
export function recoveryJson(recovery: RecoveryRecord) {
  return {
    id: recovery.id,
    webhook_id: recovery.endpointId,
    status: recovery.status,
    kinds: recovery.kinds,
    since_seq: recovery.range.sinceSeq,
    since: recovery.range.since?.toISOString() ?? null,
    until: recovery.range.until?.toISOString() ?? null,
    looked_through_seq: recovery.afterSeq,
    through_seq: recovery.throughSeq,
    matched: recovery.matched,
    scheduled: recovery.scheduled,
    error: recovery.error,
    created_at: recovery.createdAt.toISOString(),
    ended_at: recovery.endedAt?.toISOString() ?? null,
  };
}
