/**
 * Returns SQL that selects the envelope of a delivery's event, or no row if the feed does not have it yet. Usually the event
 * was appended when the delivery was created. A sequencer that lost its partition may have written it twice: then the feed
 * has one copy, and the delivery the time of the other one. The second part is read only if the first finds nothing.
 */
export function envelopeOfDelivery(orgId: string, seq: string, createdAt: string): string {
  return `(
    (select envelope from events where org_id = ${orgId} and seq = ${seq} and appended_at = ${createdAt})
    union all
    (select envelope from events where org_id = ${orgId} and seq = ${seq} limit 1)
    limit 1
  )`;
}
