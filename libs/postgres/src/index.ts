export * from './access/api-key-records.js';
export type { AuditActor } from './access/audit-actor.js';
export { AUDIT_ACTIONS, AuditLog, type AuditEntry, type AuditPlace } from './access/audit-log.js';
export * from './access/dashboard-session-records.js';
export * from './access/idempotency-records.js';
export * from './access/portal-session-records.js';
export * from './access/secret-cipher.js';
export * from './access/secret-rotation.js';
export { SigningKeys, type PublicSigningKey } from './access/signing-keys.js';
export { FeedPlaces } from './feed-lists/feed-places.js';
export { FeedServers, type FeedListId } from './connection/feed-servers.js';
export { earlierClock } from './connection/earlier-clock.js';
export { ADVISORY_LOCKS, lockFor } from './connection/advisory-locks.js';
export * from './connection/installation-row.js';
export * from './connection/postgres-away.js';
export * from './connection/postgres-probe.js';
export * from './connection/replicas/read-replicas.js';
export * from './connection/replicas/replica-look.js';
export * from './connection/store.js';
export * from './deliveries/delivery-log-audit.js';
export * from './deliveries/delivery-log.js';
export * from './deliveries/event-answers.js';
export * from './deliveries/ordered-deliveries.js';
export * from './deliveries/previous-seqs.js';
export * from './deliveries/overdue-deliveries.js';
export * from './deliveries/paced-owners.js';
export * from './deliveries/recoveries/recovery-records.js';
export * from './deliveries/recoveries/recovery-source.js';
export * from './deliveries/router-places.js';
export * from './endpoints/endpoint-directory.js';
export * from './endpoints/endpoint-health-reader.js';
export * from './endpoints/endpoint-records.js';
export { EndpointVersions } from './endpoints/endpoint-versions.js';
export { InactivePeriods } from './endpoints/inactive-periods.js';
export * from './endpoints/paced-endpoints.js';
export * from './feed/feed-audit.js';
export * from './feed/feed-cursors.js';
export { FeedMove } from './feed/feed-move.js';
export * from './feed/reading/feed-page.js';
export * from './feed/reading/feed-reader.js';
export * from './feed/feed-repair.js';
export * from './feed/head-notifications.js';
export * from './feed-lists/feed-copy.js';
export * from './feed-lists/feed-lists.js';
export * from './feed-lists/feed-targets.js';
export * from './figures/dashboard-figures.js';
export * from './live-chat/alert-claims.js';
export * from './live-chat/alert-mails.js';
export * from './live-chat/alert-outbox.js';
export * from './live-chat/chat-queue-projection.js';
export * from './live-chat/chat-queue-reader.js';
export * from './live-chat/live-chat-settings-records.js';
export * from './mcp/mcp-subscriptions.js';
export * from './mcp/mcp-upkeep.js';
export * from './operations/operational-outbox.js';
export * from './orgs/org-records.js';
export * from './orgs/org-statistics.js';
export { PostgresModule } from './postgres.module.js';
export * from './feed/append-times.js';
export { isReadOnly } from './read-only.js';
export * from './projections/backlogs/backlogs.js';
export * from './projections/days/day-partitions.js';
export * from './projections/delivery-projection.js';
export * from './projections/endpoint-counts.js';
export * from './projections/feed-projection.js';
export * from './projections/shadow/projection-comparison.js';
export {
  beginAt,
  begunPositions,
  projectedPositions,
  projectedUpTo,
  type Projected,
  type Stretch,
} from './projections/projection-offsets.js';
export * from './projections/shadow/projection-shadow.js';
export * from './projections/shadow/shadow-tables.js';
export {
  FEED_TABLE_NAMES,
  PROJECTION_TABLE_NAMES,
  readPositions,
  type ProjectionName,
  type ProjectionPositions,
} from './projections/projection-tables.js';
