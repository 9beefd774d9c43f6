export * from './connection/is-passing-kafka-error.js';
export { kafkaAccess } from './connection/kafka-access.js';
export * from './connection/kafka-connection.js';
export * from './connection/kept-admin.js';
export type { BatchContext, Handled } from './consuming/batch-consumer.js';
export * from './positions/check-positions.js';
export * from './positions/committed-positions.js';
export * from './positions/completion-tracker.js';
export * from './consuming/consumer-sessions.js';
export * from './consuming/kafka-batch-server.js';
export * from './consuming/kafka-batches.js';
export * from './consuming/pipeline-progress.js';
export * from './positions/move-group.js';
export { REPAIR_COMMAND } from './positions/position-guard.js';
export * from './positions/position-sources.js';
export { forgetListeners } from './kafkajs/patching/group-listeners.js';
export { noLeaderError } from './kafkajs/partition-errors/leaderless-partitions.js';
export { Appender } from './producing/appender.js';
export * from './producing/appenders.js';
export * from './producing/partition-writer.js';
export * from './reading/anchor.js';
export * from './reading/follow-partitions.js';
export { hasLeader, knownValues } from './reading/known-values.js';
export { hasReached, LogPositions, type PartitionBounds, type Positions } from './reading/log-positions.js';
export * from './reading/org-log-ends.js';
export * from './reading/read-partitions.js';
export * from './records/attempt-records.js';
export * from './records/checkpoint-records.js';
export * from './records/dead-letter-records.js';
export * from './records/fact-records.js';
export * from './records/inbox-records.js';
export * from './records/log-records.js';
export {
  recordBytes,
  type NewRecord,
  type RecordBatch,
  type RecordHeaders,
  type StoredRecord,
} from './records/record.js';
export * from './records/stretches-of.js';
export * from './set-up/alter-topics.js';
export * from './set-up/ensure-topics.js';
export * from './set-up/installation-topic.js';
export * from './topics/key-places.js';
export * from './topics/limits.js';
export * from './topics/partition-of.js';
export * from './topics/retry-topics.js';
export * from './topics/topics.js';
