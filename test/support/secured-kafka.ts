import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { KAFKA_JARS } from '../../libs/embedded-stack/src/kafka/kafka-jars.js';
import { KAFKA_LOGGING, kafkaServerProperties } from '../../libs/embedded-stack/src/kafka/kafka-settings.js';
import { launchServer } from '../../libs/embedded-stack/src/servers/server-process.js';
import { freePort } from './free-port.js';
import { eventually } from './infrastructure/eventually.js';
import { runProgram } from './outside-clients.js';

/**
 * A broker that speaks TLS, asks who connects (SASL: PLAIN, SCRAM-SHA-256 and -512, OAUTHBEARER; or a client certificate),
 * and allows nothing without an ACL. `admin` may do everything. Each user's password is the name.
 */
export interface SecuredKafka {
  readonly brokers: string;
  /** The same broker, for clients with a certificate in place of a password. */
  readonly certified: {
    readonly brokers: string;
    /** PEM files of the key and of the certificate of a user. */
    identity(user: string): { readonly keyFile: string; readonly certFile: string };
  };
  /** PEM file of the authority that issued the broker's certificate. */
  readonly caFile: string;
  /** `admin.properties` for Kafka's tools. */
  readonly adminProperties: string;
  /** A client of the user. */
  as(user: string): Kafka;
  remove(): Promise<void>;
}

const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
const SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required';
const BEARER = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required';
const KEY_STORE = 'broker.p12';
const STORE_PASSWORD = 'secret';

/** A key for the broker, and a certificate that is its own authority. @returns the certificate's PEM file */
async function makeCertificate(home: string): Promise<string> {
  const store = ['-alias', 'broker', '-keystore', join(home, KEY_STORE), '-storepass', STORE_PASSWORD];
  const names = ['-dname', 'CN=broker', '-ext', 'SAN=IP:127.0.0.1', '-ext', 'bc=ca:true'];
  await runProgram('keytool', [
    '-genkeypair',
    '-keyalg',
    'EC',
    '-storetype',
    'PKCS12',
    '-validity',
    '7',
    ...names,
    ...store,
  ]);
  const caFile = join(home, 'ca.pem');
  await runProgram('keytool', ['-exportcert', '-rfc', '-file', caFile, ...store]);
  return caFile;
}

/** An authority that issues a certificate to each user. @returns its PEM file */
async function makeIdentities(home: string, users: readonly string[]): Promise<string> {
  const openssl = (...args: readonly string[]) => runProgram('openssl', args, { cwd: home });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const own = ['-keyout', 'users.key', '-out', 'users.pem', '-subj', '/CN=users', '-days', '2'];
  await openssl('req', '-x509', ...newKey, ...own);
  const authority = ['-CA', 'users.pem', '-CAkey', 'users.key', '-CAcreateserial', '-days', '2'];
  for (const user of users) {
    await openssl('req', '-new', ...newKey, '-keyout', `${user}.key`, '-out', `${user}.csr`, '-subj', `/CN=${user}`);
    await openssl('x509', '-req', '-in', `${user}.csr`, ...authority, '-out', `${user}.pem`);
  }
  return join(home, 'users.pem');
}

/** @param certified the users that have a certificate, too */
export async function aSecuredKafka(
  users: readonly string[],
  certified: readonly string[] = [],
): Promise<SecuredKafka> {
  const home = mkdtempSync(join(tmpdir(), 'gapless-secured-kafka-'));
  const [port, controllerPort, certifiedPort] = [await freePort(), await freePort(), await freePort()];
  const caFile = await makeCertificate(home);
  const usersCaFile = await makeIdentities(home, certified);
  const known = ['admin', ...users].map((user) => `user_${user}="${user}"`).join(' ');
  const secured = {
    listeners: `BROKER://127.0.0.1:${port},CERTIFIED://127.0.0.1:${certifiedPort},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `BROKER://127.0.0.1:${port},CERTIFIED://127.0.0.1:${certifiedPort}`,
    'listener.security.protocol.map': 'BROKER:SASL_SSL,CERTIFIED:SSL,CONTROLLER:PLAINTEXT',
    'listener.name.certified.ssl.client.auth': 'required',
    'listener.name.certified.ssl.truststore.type': 'PEM',
    'listener.name.certified.ssl.truststore.location': usersCaFile,
    'ssl.principal.mapping.rules': 'RULE:^CN=(.*)$/$1/',
    'ssl.keystore.location': join(home, KEY_STORE),
    'ssl.keystore.password': STORE_PASSWORD,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': caFile,
    'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
    'listener.name.broker.scram-sha-256.sasl.jaas.config': `${SCRAM};`,
    'listener.name.broker.scram-sha-512.sasl.jaas.config': `${SCRAM};`,
    // Tokens that nobody signed: what issues them is not what is tried.
    'listener.name.broker.oauthbearer.sasl.jaas.config': `${BEARER} unsecuredLoginStringClaim_sub="admin";`,
    'sasl.mechanism.inter.broker.protocol': 'PLAIN',
    'listener.name.broker.plain.sasl.jaas.config': `${PLAIN} username="admin" password="admin" ${known};`,
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // As brokers have it by default: a transaction that is left open stays open.
    'transaction.max.timeout.ms': '900000',
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
    isAfterCrash: false,
  });
  // Of a name that comes twice the last counts.
  writeFileSync(properties, basics + linesOf(secured));
  writeFileSync(logging, KAFKA_LOGGING);
  writeFileSync(
    adminProperties,
    linesOf({
      'security.protocol': 'SASL_SSL',
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': caFile,
      'sasl.mechanism': 'PLAIN',
      'sasl.jaas.config': `${PLAIN} username="admin" password="admin";`,
    }),
  );
  // As embedded brokers do, both programs take their classes from the archive that the bootstrap makes.
  const classes = `${KAFKA_JARS}.jsa`;
  const sharing = existsSync(classes) ? [`-XX:SharedArchiveFile=${classes}`] : [];
  const java = [...sharing, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx256m', '-cp', `${KAFKA_JARS}/*`];
  const clusterId = randomUUID().replaceAll('-', '').slice(0, 22);
  const scram = users.flatMap((user) =>
    ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((hash) => ['--add-scram', `${hash}=[name=${user},password=${user}]`]),
  );
  await runProgram('java', [...java, 'kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', properties, ...scram]);
  const server = launchServer(
    {
      name: 'Kafka',
      command: 'java',
      args: [`-Dlog4j2.configurationFile=${logging}`, ...java, 'kafka.Kafka', properties],
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
      ssl: { ca: readFileSync(caFile, 'utf8') },
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
  const identity = (user: string) => ({ keyFile: join(home, `${user}.key`), certFile: join(home, `${user}.pem`) });
  const byCertificate = { brokers: `127.0.0.1:${certifiedPort}`, identity };
  return { brokers, certified: byCertificate, caFile, adminProperties, as, remove };
}

function linesOf(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
