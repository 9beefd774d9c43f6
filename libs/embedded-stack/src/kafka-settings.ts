/** Messages of up to 16 MiB: 500 events of one ingest request fit with room to spare. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Producers may not ask for longer ones; a shorter one is theirs to choose. */
const LONGEST_TRANSACTION_MS = 3_000;

/** A log is flushed at the second look at the latest, so records are on the disk within twice this time. */
const FLUSH_AFTER_MS = 500;

/** A node of a cluster as the others know it: each is a broker and a controller. */
export interface KafkaPeer {
  readonly nodeId: number;
  readonly controllerPort: number;
}

/** Records are kept as often as there are nodes, up to what production systems do. */
const MOST_REPLICAS = 3;

/**
 * Of a node that is alone. After a crash it lets itself in again only when the session of the process before is over, and
 * asks for that with each heartbeat. The rest of its start takes a second as well: a shorter session would gain nothing.
 */
const ALONE = { 'broker.session.timeout.ms': 4_000, 'broker.heartbeat.interval.ms': 500 };
const ALONE_AFTER_CRASH = { 'broker.session.timeout.ms': 1_000, 'broker.heartbeat.interval.ms': 200 };

/** `server.properties` of a node that is broker and controller. Everything listens on loopback only. */
export function kafkaServerProperties(o: {
  readonly port: number;
  readonly node: KafkaPeer;
  /** All nodes, this one included. */
  readonly peers: readonly KafkaPeer[];
  readonly dataDir: string;
  /** Names this one process: what brokers say of each other is of the process before, until the new one is let in. */
  readonly launchId: string;
  /** Whether the process before did not end by itself. */
  readonly isAfterCrash: boolean;
}): string {
  const { nodeId, controllerPort } = o.node;
  const replicas = Math.min(MOST_REPLICAS, o.peers.length);
  // One node may be away and every record is still written twice, if there are three.
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
    // The only text of ours that a broker sends to its clients. It places nothing, since all nodes are on one machine.
    'broker.rack': o.launchId,
    'log.dirs': o.dataDir,
    // A machine that is busy for longer than the usual minute is no reason to give up.
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

    // Topics have the partitions and the retention that the stages ask for, or do not exist.
    'auto.create.topics.enable': false,
    'message.max.bytes': MAX_MESSAGE_BYTES,
    'replica.fetch.max.bytes': MAX_MESSAGE_BYTES,

    // There is no other machine to have what this one loses with its power. Once a second all is on the disk (ADR 38).
    'log.flush.interval.ms': FLUSH_AFTER_MS,
    'log.flush.scheduler.interval.ms': FLUSH_AFTER_MS,
    // After a crash, a start does not read records again that are known to be on the disk.
    'log.flush.offset.checkpoint.interval.ms': 5_000,

    // Groups are few and their members all here: nobody is worth 3 s of waiting, and a killed member is missed soon.
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1000,
    // 90 days instead of 7: who starts again after a long pause goes on where it was (ADR 37).
    'offsets.retention.minutes': 129_600,

    // The defaults (50 partitions, 128 MiB to clean with, a dozen threads) are meant for a machine of its own.
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

/** In a properties file the backslash escapes; nothing else in a value is special. */
function escapeProperty(value: string): string {
  return value.replaceAll('\\', '\\\\');
}

/** The broker logs to a file that is rolled at 10 MB, and keeps one older file. */
export function kafkaLogging(logFile: string): string {
  const file = logFile.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  return `<Configuration status="ERROR" shutdownHook="disable">
  <Appenders>
    <RollingFile name="file" fileName="${file}" filePattern="${file}.%i">
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
}
