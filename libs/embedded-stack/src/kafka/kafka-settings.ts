/** 16 MiB in bytes: room for the 500 events of one ingest request. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** The longest transaction timeout that a producer may request, milliseconds. */
const LONGEST_TRANSACTION_MS = 3_000;

/**
 * The interval of the flush check, milliseconds. A log is flushed at the second check at the latest, so records are on
 * disk within twice this time.
 */
const FLUSH_AFTER_MS = 500;

/** A node as the other nodes of its cluster know it; each is broker and controller. */
export interface KafkaPeer {
  readonly nodeId: number;
  readonly controllerPort: number;
}

/** The most replicas of a record, as is usual in production. With fewer nodes, each node has one. */
const MOST_REPLICAS = 3;

/**
 * For a single node. After a crash it is admitted again once the session of the previous process has expired. It
 * retries at each heartbeat. The rest of its start takes about a second, so a shorter session would gain nothing.
 */
const ALONE = { 'broker.session.timeout.ms': 4_000, 'broker.heartbeat.interval.ms': 500 };
const ALONE_AFTER_CRASH = { 'broker.session.timeout.ms': 1_000, 'broker.heartbeat.interval.ms': 200 };

/** Returns the `server.properties` of a node that is broker and controller. It listens on loopback only. */
export function kafkaServerProperties(o: {
  readonly port: number;
  readonly node: KafkaPeer;
  /** All nodes, this one included. */
  readonly peers: readonly KafkaPeer[];
  readonly dataDir: string;
  /** Identifies this launch. Until the new process is admitted, brokers report the previous one. */
  readonly launchId: string;
  /** Whether the previous process ended in a crash. */
  readonly isAfterCrash: boolean;
}): string {
  const { nodeId, controllerPort } = o.node;
  const replicas = Math.min(MOST_REPLICAS, o.peers.length);
  // With three nodes, one may be away and every record is still written twice.
  const inSync = Math.max(1, replicas - 1);
  const settings: Record<string, string | number | boolean> = {
    ...(o.peers.length > 1 ? {} : o.isAfterCrash ? ALONE_AFTER_CRASH : ALONE),
    'process.roles': 'broker,controller',
    'node.id': nodeId,
    'controller.quorum.voters': o.peers.map((peer) => `${peer.nodeId}@127.0.0.1:${peer.controllerPort}`).join(','),
    listeners: `BROKER://127.0.0.1:${o.port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `BROKER://127.0.0.1:${o.port}`,
    'listener.security.protocol.map': 'BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    // The only setting that a broker passes on to its clients. It does not affect placement, since all nodes are on one
    // machine.
    'broker.rack': o.launchId,
    'log.dirs': o.dataDir,
    // Longer than the default of one minute, for a busy machine.
    'initial.broker.registration.timeout.ms': 240_000,

    'default.replication.factor': replicas,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': inSync,

    // An open transaction keeps readers from everything after it in its partition (ADR 50).
    'transaction.max.timeout.ms': LONGEST_TRANSACTION_MS,
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': 500,

    // Topics need the partitions and the retention of the stages, so brokers must not create them.
    'auto.create.topics.enable': false,
    'message.max.bytes': MAX_MESSAGE_BYTES,
    'replica.fetch.max.bytes': MAX_MESSAGE_BYTES,

    // No other machine has a copy after a power failure. So all records are on disk after a second (ADR 38).
    'log.flush.interval.ms': FLUSH_AFTER_MS,
    'log.flush.scheduler.interval.ms': FLUSH_AFTER_MS,
    // After a crash, a start does not read records again that were flushed before.
    'log.flush.offset.checkpoint.interval.ms': 5_000,

    // All members of the groups are local, so 3 s of waiting for more would be wasted. A killed member is noticed soon.
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1000,
    // 90 days instead of 7, so that a reader that returns after a long pause continues at its offset (ADR 37).
    'offsets.retention.minutes': 129_600,

    // The defaults (50 partitions, 128 MiB for the cleaner, a dozen threads) are meant for a dedicated machine.
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.num.partitions': 4,
    'share.coordinator.state.topic.num.partitions': 4,
    'log.cleaner.dedupe.buffer.size': 8 * 1024 * 1024,
    'num.network.threads': 2,
    'num.io.threads': 4,
    'background.threads': 2,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${escapeProperty(String(value))}\n`)
    .join('');
}

/** Escapes a value of a properties file, which Java reads as Latin-1. */
function escapeProperty(value: string): string {
  return value
    .replaceAll('\\', '\\\\')
    .replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * The logging settings: a file in the process' working directory that is rolled at 10 MB, with one older file. Without
 * the path of the directory, in which Log4j would read `%` and `${` as its own.
 */
export const KAFKA_LOGGING = `<Configuration status="ERROR" shutdownHook="disable">
  <Appenders>
    <RollingFile name="file" fileName="kafka.log" filePattern="kafka.log.%i">
      <PatternLayout pattern="%d{ISO8601} %-5p %c{1}: %m%n"/>
      <Policies><SizeBasedTriggeringPolicy size="10MB"/></Policies>
      <DefaultRolloverStrategy max="1"/>
    </RollingFile>
  </Appenders>
  <Loggers>
    <Root level="INFO"><AppenderRef ref="file"/></Root>
  </Loggers>
</Configuration>
`;
