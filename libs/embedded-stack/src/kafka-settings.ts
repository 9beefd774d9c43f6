/** Messages of up to 16 MiB: 500 events of one ingest request fit with room to spare. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** A node of a cluster as the others know it: each is a broker and a controller. */
export interface KafkaPeer {
  readonly nodeId: number;
  readonly controllerPort: number;
}

/** Records are kept as often as there are nodes, up to what production systems do. */
const MOST_REPLICAS = 3;

/** `server.properties` of a node that is broker and controller. Everything listens on loopback only. */
export function kafkaServerProperties(o: {
  readonly port: number;
  readonly node: KafkaPeer;
  /** All nodes, this one included. */
  readonly peers: readonly KafkaPeer[];
  readonly dataDir: string;
}): string {
  const { nodeId, controllerPort } = o.node;
  const replicas = Math.min(MOST_REPLICAS, o.peers.length);
  // One node may be away and every record is still written twice, if there are three.
  const inSync = Math.max(1, replicas - 1);
  const settings: Record<string, string | number | boolean> = {
    'process.roles': 'broker,controller',
    'node.id': nodeId,
    'controller.quorum.voters': o.peers.map((peer) => `${peer.nodeId}@127.0.0.1:${peer.controllerPort}`).join(','),
    listeners: `BROKER://127.0.0.1:${o.port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `BROKER://127.0.0.1:${o.port}`,
    'listener.security.protocol.map': 'BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': o.dataDir,

    'default.replication.factor': replicas,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': inSync,

    // Topics have the partitions and the retention that the stages ask for, or do not exist.
    'auto.create.topics.enable': false,
    'message.max.bytes': MAX_MESSAGE_BYTES,
    'replica.fetch.max.bytes': MAX_MESSAGE_BYTES,

    // Groups are few and their members all here: nobody is worth 3 s of waiting, and a killed member is missed soon.
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1000,

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
