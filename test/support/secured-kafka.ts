import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { kafkaLogging, kafkaServerProperties } from '../../libs/embedded-stack/src/kafka-settings.js';
import { launchServer } from '../../libs/embedded-stack/src/server-process.js';
import { eventually } from './infrastructure/eventually.js';
import { KAFKA_JARS, runProgram } from './outside-clients.js';

/** A broker that asks who one is, and lets nobody do what no ACL allows; `admin` may do everything. */
export interface SecuredKafka {
  readonly brokers: string;
  /** `admin.properties` for Kafka's tools. */
  readonly adminProperties: string;
  /** A client of a user, who is known by a password that is the name. */
  as(user: string): Kafka;
  remove(): Promise<void>;
}

const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required';

async function freePorts(): Promise<readonly [number, number]> {
  const servers = [createServer(), createServer()] as const;
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, '127.0.0.1', () => {
            resolve((server.address() as AddressInfo).port);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return [ports[0]!, ports[1]!];
}

export async function aSecuredKafka(users: readonly string[]): Promise<SecuredKafka> {
  const home = mkdtempSync(join(tmpdir(), 'gapless-secured-kafka-'));
  const [port, controllerPort] = await freePorts();
  const known = ['admin', ...users].map((user) => `user_${user}="${user}"`).join(' ');
  const secured = {
    'listener.security.protocol.map': 'BROKER:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT',
    'sasl.enabled.mechanisms': 'PLAIN',
    'sasl.mechanism.inter.broker.protocol': 'PLAIN',
    'listener.name.broker.plain.sasl.jaas.config': `${PLAIN} username="admin" password="admin" ${known};`,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // The broker speaks to itself, its controller, without a name.
    'super.users': 'User:admin;User:ANONYMOUS',
  };
  const [properties, logging, adminProperties] = ['server.properties', 'log4j2.xml', 'admin.properties'].map((name) =>
    join(home, name),
  ) as [string, string, string];
  const node = { nodeId: 1, controllerPort };
  const basics = kafkaServerProperties({
    port,
    node,
    peers: [node],
    dataDir: join(home, 'records'),
    launchId: 'secured',
  });
  // Of a name that comes twice the last counts.
  writeFileSync(properties, basics + linesOf(secured));
  writeFileSync(logging, kafkaLogging(join(home, 'kafka.log')));
  writeFileSync(
    adminProperties,
    linesOf({
      'security.protocol': 'SASL_PLAINTEXT',
      'sasl.mechanism': 'PLAIN',
      'sasl.jaas.config': `${PLAIN} username="admin" password="admin";`,
    }),
  );
  const flags = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx256m', `-Dlog4j2.configurationFile=${logging}`];
  const java = [...flags, '-cp', `${KAFKA_JARS}/*`];
  const clusterId = randomUUID().replaceAll('-', '').slice(0, 22);
  await runProgram('java', [...java, 'kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', properties]);
  const server = launchServer(
    {
      name: 'Kafka',
      command: 'java',
      args: [...java, 'kafka.Kafka', properties],
      env: process.env,
      cwd: home,
      outputFile: join(home, 'output.log'),
      logFile: join(home, 'kafka.log'),
    },
    [{ signal: 'SIGKILL', waitMs: 5_000 }],
    () => undefined,
  );
  const brokers = `127.0.0.1:${port}`;
  const as = (user: string): Kafka =>
    new Kafka({
      brokers: [brokers],
      clientId: user,
      sasl: { mechanism: 'plain', username: user, password: user },
      logLevel: logLevel.NOTHING,
      retry: { retries: 2, initialRetryTime: 100 },
    });
  const remove = async (): Promise<void> => {
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  };
  try {
    await eventually(
      async () => {
        const admin = as('admin').admin();
        await admin.connect();
        try {
          await admin.describeCluster();
        } finally {
          await admin.disconnect();
        }
      },
      { timeoutMs: 40_000, intervalMs: 200 },
    );
  } catch (error) {
    await remove();
    throw error;
  }
  return { brokers, adminProperties, as, remove };
}

function linesOf(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
