import { embeddedEnvironment } from '#libs/local-installation';
import type { Environment } from '#libs/runtime';

/** Settings of servers that are not the cluster's own, such as how to sign in to their brokers. */
const OF_OTHER_SERVERS = /^(KAFKA_|DATABASE_|TENANT_DATABASE_URL$|PROJECTION_DATABASE_URLS$)/;

/** The addresses of the cluster's own servers. */
export interface OwnServers {
  readonly brokers: string;
  readonly databaseUrl: string;
}

/** Returns the settings of the stages: the given ones, but for the cluster's own servers. */
export async function stageEnvironment(given: Environment, dataDir: string, own: OwnServers): Promise<Environment> {
  const settings = Object.fromEntries(Object.entries(given).filter(([name]) => !OF_OTHER_SERVERS.test(name)));
  return {
    ...(await embeddedEnvironment(settings, dataDir)),
    KAFKA_BROKERS: own.brokers,
    DATABASE_URL: own.databaseUrl,
    HOST: '127.0.0.1',
    MIGRATE_AT_START: 'false',
  };
}
