import type { KafkaConnection } from '#libs/kafka-log';

/** Longer than a busy machine stands still for. */
const SESSION_MS = 10_000;

/** Gives the connection's group members longer sessions, so that no group drops one that sends its heartbeats late. */
export function withLongSessions(connection: KafkaConnection): KafkaConnection {
  const { sessionTimes } = connection;
  while (sessionTimes.current.sessionMs < SESSION_MS) sessionTimes.refuse(sessionTimes.current);
  return connection;
}
