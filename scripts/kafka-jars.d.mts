/** @returns the version of Kafka, from docker/kafka/pom.xml */
export function kafkaVersion(root: string): string;
