import { writeAddresses } from '#libs/local-installation';
import { ConfigError, untilAborted, type Environment } from '#libs/runtime';
import { isGiven } from './is-given.js';
import { serversText } from './ready-text.js';
import type { ServersToStart } from './start-servers.js';

/**
 * Runs the servers that were started, without stages, until the signal is aborted.
 * @throws ConfigError when none was started; Error when a server ends by itself
 */
export async function runServers(given: Environment, parts: ServersToStart): Promise<void> {
  const { servers, dataDir, print, signal } = parts;
  if (servers.length === 0) {
    throw new ConfigError(['KAFKA_BROKERS and DATABASE_URL name your own servers, so there is none to start']);
  }
  await writeAddresses(dataDir, {
    kafka_brokers: given['KAFKA_BROKERS'] ?? '',
    database_url: given['DATABASE_URL'] ?? '',
  });
  print(serversText({ path: dataDir, isNamed: isGiven(given, 'DATA_DIR') }));
  const death = await Promise.race([untilAborted(signal), ...servers.map((server) => server.died)]);
  if (death instanceof Error) throw death;
  print('The servers are stopping …');
}
