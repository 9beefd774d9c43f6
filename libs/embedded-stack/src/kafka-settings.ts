/** Messages of up to 16 MiB: 500 events of one ingest request fit with room to spare. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** `server.properties` of a single broker that is its own controller. Everything listens on loopback only. */
export function kafkaServerProperties(o: {
  readonly port: number;
  readonly controllerPort: number;
  readonly dataDir: string;
}): string {
  const settings: Record<string, string | number | boolean> = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${o.controllerPort}`,
    listeners: `BROKER://127.0.0.1:${o.port},CONTROLLER://127.0.0.1:${o.controllerPort}`,
    'advertised.listeners': `BROKER://127.0.0.1:${o.port}`,
    'listener.security.protocol.map': 'BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': o.dataDir,

    // There is one broker to keep each record.
    'default.replication.factor': 1,
    'min.insync.replicas': 1,
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,

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
