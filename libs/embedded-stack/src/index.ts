export { startEmbeddedKafka, type EmbeddedKafka } from './embedded-kafka.js';
export {
  startEmbeddedKafkaCluster,
  type EmbeddedKafkaCluster,
  type EmbeddedKafkaNode,
} from './embedded-kafka-cluster.js';
export { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.js';
export { startEmbeddedStack, stopLeftovers, type EmbeddedStack } from './embedded-stack.js';
export { forgetMembers } from './forget-members.js';
export { quietPort } from './free-port.js';
export { KAFKA_JARS } from './kafka-jars.js';
export { DataDirInUseError } from './server-claim.js';
