import { readFileSync } from 'node:fs';
import type { KafkaConfig, SASLOptions } from 'kafkajs';
import { ConfigError, type Config } from '#libs/runtime';
import { OAuthTokens } from './oauth-tokens.js';

/** The credentials of a client for brokers that require them. */
export type KafkaAccess = Pick<KafkaConfig, 'ssl' | 'sasl'>;

export type KafkaAccessConfig = Pick<
  Config,
  | 'kafkaTls'
  | 'kafkaCaFile'
  | 'kafkaCertFile'
  | 'kafkaKeyFile'
  | 'kafkaSasl'
  | 'kafkaUsername'
  | 'kafkaPassword'
  | 'kafkaTokenUrl'
  | 'kafkaTokenScope'
>;

/**
 * Reads the certificates that the settings name.
 * @throws ConfigError when a file cannot be read
 */
export function kafkaAccess(config: KafkaAccessConfig): KafkaAccess {
  return { ...tlsOf(config), ...saslOf(config) };
}

function tlsOf(config: KafkaAccessConfig): Pick<KafkaAccess, 'ssl'> {
  if (!config.kafkaTls) return {};
  const files = {
    ca: ['KAFKA_CA_FILE', config.kafkaCaFile],
    cert: ['KAFKA_CERT_FILE', config.kafkaCertFile],
    key: ['KAFKA_KEY_FILE', config.kafkaKeyFile],
  } as const;
  const problems: string[] = [];
  const ssl = Object.entries(files).flatMap(([part, [setting, path]]) => {
    if (path === null) return [];
    try {
      return [[part, readFileSync(path, 'utf8')] as const];
    } catch (error) {
      problems.push(`${setting}=${path}: ${(error as Error).message}`);
      return [];
    }
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return { ssl: Object.fromEntries(ssl) };
}

function saslOf(config: KafkaAccessConfig): Pick<KafkaAccess, 'sasl'> {
  const { kafkaSasl: mechanism, kafkaUsername, kafkaPassword, kafkaTokenUrl, kafkaTokenScope } = config;
  if (mechanism === null) return {};
  const [username, password] = [kafkaUsername ?? '', kafkaPassword ?? ''];
  if (mechanism !== 'oauthbearer') return { sasl: { mechanism, username, password } as SASLOptions };
  const tokens = new OAuthTokens({
    url: kafkaTokenUrl ?? '',
    clientId: username,
    clientSecret: password,
    scope: kafkaTokenScope,
  });
  return { sasl: { mechanism, oauthBearerProvider: async () => ({ value: await tokens.token() }) } };
}
