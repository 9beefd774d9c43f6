import { ConfigError, SETTINGS, type Environment } from '#libs/runtime';
import { forgetMembers, startEmbeddedKafka, startEmbeddedPostgres } from '#libs/embedded-stack';
import { isGiven } from './is-given.js';

export interface Server {
  stop(): Promise<void>;
  readonly died: Promise<Error>;
}

export interface ServersToStart {
  /** Gets the servers that were started. */
  readonly servers: Server[];
  readonly dataDir: string;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

/** Removes the group members of a killed Gapless, which its broker still waits for after a restart. */
async function forgetTheDead(brokers: string, { print, signal }: ServersToStart): Promise<void> {
  try {
    const members = await forgetMembers({ brokers, signal });
    if (members > 0) print(`Kafka removed ${members} group members that a killed Gapless had left`);
  } catch (error) {
    print(`Kafka may wait for group members that no longer exist: ${String(error)}`);
  }
}

/** Settings of the access to brokers that Gapless does not start itself. */
const ACCESS_SETTINGS = [SETTINGS.kafkaTls, SETTINGS.kafkaSasl, SETTINGS.kafkaUsername, SETTINGS.kafkaPassword];

function isUsed(name: string): boolean {
  return isGiven(process.env, name) && process.env[name]?.trim() !== 'false';
}

/**
 * Starts the servers that the environment does not name.
 * @throws ConfigError when there are settings of the access to brokers, but no addresses
 */
export async function startServers(parts: ServersToStart): Promise<Environment> {
  const { servers, dataDir, print, signal } = parts;
  const unused = isGiven(process.env, 'KAFKA_BROKERS') ? [] : ACCESS_SETTINGS.filter(({ name }) => isUsed(name));
  if (unused.length > 0) {
    throw new ConfigError(
      unused.map(({ name }) => `${name} is set, but KAFKA_BROKERS is not, and the embedded broker needs no sign-in`),
    );
  }
  const options = { dataDir, log: print, signal };
  const kafka = isGiven(process.env, 'KAFKA_BROKERS') ? null : startEmbeddedKafka(options);
  const postgres = isGiven(process.env, 'DATABASE_URL') ? null : startEmbeddedPostgres(options);
  // This runs while Postgres starts, and before any stage joins its group.
  const forgotten = kafka?.then(({ brokers }) => forgetTheDead(brokers, parts)).catch(() => undefined);
  const started = await Promise.allSettled([kafka, postgres]);
  for (const server of started) if (server.status === 'fulfilled' && server.value !== null) servers.push(server.value);
  for (const server of started) if (server.status === 'rejected') throw server.reason;
  await forgotten;
  return {
    ...process.env,
    ...(kafka === null ? {} : { KAFKA_BROKERS: (await kafka).brokers }),
    ...(postgres === null ? {} : { DATABASE_URL: (await postgres).url }),
  };
}
