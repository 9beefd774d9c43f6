export { startEmbeddedKafka, type EmbeddedKafka } from './kafka/embedded-kafka.js';
export {
  startEmbeddedKafkaCluster,
  type EmbeddedKafkaCluster,
  type EmbeddedKafkaNode,
} from './kafka/embedded-kafka-cluster.js';
export { startEmbeddedPostgres, type EmbeddedPostgres } from './postgres/embedded-postgres.js';
export { startEmbeddedStack, stopLeftovers, type EmbeddedStack } from './embedded-stack.js';
export { forgetMembers } from './kafka-protocol/forget-members.js';
export { quietPort } from './servers/free-port.js';
export { KAFKA_JARS } from './kafka/kafka-jars.js';
export { DataDirInUseError } from './servers/server-claim.js';
