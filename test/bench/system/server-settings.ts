import kafkajs from 'kafkajs';
import { Client } from 'pg';
import type { GaplessProcess } from './gapless-process.js';

const POSTGRES_SETTINGS = ['fsync', 'synchronous_commit', 'full_page_writes'];
const KAFKA_SETTINGS = ['log.flush.interval.messages', 'default.replication.factor'];
/** What Kafka has by default: it leaves writing to the disk to the system, and safety to replicas. */
const NEVER = '9223372036854775807';
const KAFKA_NODE_ID = '1';

/** What decides how safe a write is, as the servers themselves print it. */
export async function serverSettings({ credentials }: GaplessProcess): Promise<Readonly<Record<string, string>>> {
  return {
    ...(await postgresSettings(credentials.database_url)),
    ...(await kafkaSettings(credentials.kafka_brokers.split(','))),
  };
}

async function postgresSettings(databaseUrl: string): Promise<Readonly<Record<string, string>>> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; setting: string }>(
      'select name, setting from pg_settings where name = any($1)',
      [POSTGRES_SETTINGS],
    );
    return Object.fromEntries(rows.map(({ name, setting }) => [`Postgres ${name}`, setting]));
  } finally {
    await client.end();
  }
}

/** What decides how safe a write is on the brokers, as they print it. */
export async function kafkaSettings(brokers: string[]): Promise<Readonly<Record<string, string>>> {
  const admin = new kafkajs.Kafka({ brokers, clientId: 'bench', logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.BROKER, name: KAFKA_NODE_ID, configNames: KAFKA_SETTINGS }],
    });
    const entries = resources.flatMap(({ configEntries }) => configEntries);
    return Object.fromEntries(
      entries.map(({ configName, configValue }) => [
        `Kafka ${configName}`,
        configValue === NEVER ? 'default' : configValue,
      ]),
    );
  } finally {
    await admin.disconnect();
  }
}
