import type { RetrySchedule } from '#libs/domain';
import { DAY_MS, parseDuration } from './duration.js';

/** Everything a process can be told by its environment (decisions, section 9). Durations are milliseconds. */
export interface Config {
  readonly databaseUrl: string;
  readonly kafkaBrokers: readonly string[];
  readonly host: string;
  readonly port: number;
  /** Partitions of every topic but the compacted ones' own needs: orgs and endpoints are spread over them. */
  readonly partitions: number;
  /** What topic and consumer group names begin with. */
  readonly topicPrefix: string;
  readonly retrySchedule: RetrySchedule;
  readonly deliveryTimeoutMs: number;
  readonly autoDisableAfter: number;
  readonly retentionMs: number;
  readonly sweepIntervalMs: number;
  readonly allowHttpUrls: boolean;
  /** CIDRs; checked by the webhook transport. */
  readonly allowedPrivateNetworks: string;
  /** `<id>:<base64 of 32 bytes>`, comma-separated; the first encrypts, all decrypt. */
  readonly secretEncryptionKeys: string;
  readonly rateLimitPerSecond: number;
  readonly maxEndpointsPerOrg: number;
  readonly dnsServers: readonly string[];
  readonly smtpUrl: string | null;
  readonly publicUrl: string | null;
  readonly logLevel: string;
  readonly otlpEndpoint: string | null;
}

/** Every problem of the environment, each naming its variable. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(`the environment is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

export type Environment = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** Reads variables one by one and collects what is wrong with them. */
class Variables {
  readonly problems: string[] = [];
  constructor(readonly environment: Environment) {}

  /**
   * A variable that is set to nothing is as if unset, except where the caller asks for the text itself.
   * @param secret keeps the value out of the message
   */
  read<T>(name: string, fallback: T, parse: (text: string) => T | undefined, expected: string, secret = false): T {
    const text = this.environment[name]?.trim();
    if (text === undefined || text === '') return fallback;
    const value = parse(text);
    if (value !== undefined) return value;
    this.problems.push(`${name}=${secret ? '…' : text}: expected ${expected}`);
    return fallback;
  }

  /** @param secret keeps the value out of the message */
  required(name: string, parse: (text: string) => string | undefined, expected: string, secret = false): string {
    const text = this.environment[name]?.trim() ?? '';
    const value = text === '' ? undefined : parse(text);
    if (value !== undefined) return value;
    this.problems.push(`${name}${text === '' ? ' is not set' : secret ? '=…' : `=${text}`}: expected ${expected}`);
    return '';
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    return this.read(
      name,
      fallback,
      (text) => (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined),
      `an integer from ${min} to ${max}`,
    );
  }

  duration(name: string, fallbackMs: number): number {
    return this.read(name, fallbackMs, parseDuration, 'a duration such as 500ms, 10s, 5m, 6h or 30d');
  }
}

function parseBoolean(text: string): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

function parseUrl(text: string, ...protocols: readonly string[]): string | undefined {
  return URL.canParse(text) && protocols.includes(new URL(text).protocol) ? text : undefined;
}

function parseSchedule(text: string): RetrySchedule | undefined {
  const delays = text.split(',').map(parseDuration);
  return delays.length <= 20 && delays.every((delay) => delay !== undefined) ? delays : undefined;
}

function parseHostPorts(text: string): readonly string[] | undefined {
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.every((entry) => /^(\[[0-9a-fA-F:.]+\]|[^\s:,]+):\d{1,5}$/.test(entry)) ? entries : undefined;
}

function parseEncryptionKeys(text: string): string | undefined {
  const valid = text.split(',').every((entry) => {
    const [id, key, ...rest] = entry.trim().split(':');
    return rest.length === 0 && /^[\w-]{1,32}$/.test(id ?? '') && Buffer.from(key ?? '', 'base64').length === 32;
  });
  return valid ? text : undefined;
}

/**
 * @throws ConfigError with every problem at once
 */
export function loadConfig(environment: Environment): Config {
  const env = new Variables(environment);
  const config: Config = {
    databaseUrl: env.required(
      'DATABASE_URL',
      (text) => parseUrl(text, 'postgres:', 'postgresql:'),
      'postgres://user:password@host:port/database',
      true,
    ),
    kafkaBrokers: env
      .required('KAFKA_BROKERS', (text) => parseHostPorts(text)?.join(','), 'host:port, comma-separated')
      .split(','),
    host: env.read('HOST', '127.0.0.1', (text) => text, 'a host name or address'),
    port: env.integer('PORT', 3000, 0, 65_535),
    partitions: env.integer('PARTITIONS', 12, 1, 1_000),
    topicPrefix: env.read(
      'TOPIC_PREFIX',
      'gapless',
      (text) => (/^[\w-]{1,60}$/.test(text) ? text : undefined),
      'letters, digits, - and _',
    ),
    retrySchedule: env.read(
      'RETRY_SCHEDULE',
      [10_000, 60_000, 300_000, 900_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000],
      parseSchedule,
      'up to 20 durations such as 10s,1m,5m',
    ),
    deliveryTimeoutMs: env.duration('DELIVERY_TIMEOUT', 10_000),
    autoDisableAfter: env.integer('AUTO_DISABLE_AFTER', 20, 1, 1_000_000),
    retentionMs: env.duration('RETENTION', 30 * DAY_MS),
    sweepIntervalMs: env.duration('SWEEP_INTERVAL', 5_000),
    allowHttpUrls: env.read('ALLOW_HTTP_URLS', false, parseBoolean, 'true or false'),
    allowedPrivateNetworks: env.read('ALLOWED_PRIVATE_NETWORKS', '', (text) => text, 'CIDRs'),
    secretEncryptionKeys: env.required(
      'SECRET_ENCRYPTION_KEYS',
      parseEncryptionKeys,
      '<id>:<base64 of 32 bytes>, comma-separated (make one with: openssl rand -base64 32)',
      true,
    ),
    rateLimitPerSecond: env.read(
      'RATE_LIMIT',
      100,
      (text) => {
        const match = /^(\d{1,7})\/s$/.exec(text);
        return match === null || Number(match[1]) === 0 ? undefined : Number(match[1]);
      },
      '<n>/s, such as 100/s',
    ),
    maxEndpointsPerOrg: env.integer('MAX_ENDPOINTS_PER_ORG', 50, 1, 100_000),
    dnsServers: env.read('DNS_SERVERS', [], parseHostPorts, 'ip:port, comma-separated'),
    smtpUrl: env.read<string | null>(
      'SMTP_URL',
      null,
      (text) => parseUrl(text, 'smtp:', 'smtps:'),
      'an smtp:// url',
      true,
    ),
    publicUrl: env.read<string | null>(
      'PUBLIC_URL',
      null,
      (text) => parseUrl(text, 'http:', 'https:'),
      'an http:// or https:// url',
    ),
    logLevel: env.read(
      'LOG_LEVEL',
      'info',
      (text) => (LOG_LEVELS.includes(text) ? text : undefined),
      LOG_LEVELS.join(', '),
    ),
    otlpEndpoint: env.read<string | null>(
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      null,
      (text) => parseUrl(text, 'http:', 'https:'),
      'an http:// or https:// url',
    ),
  };
  if (env.problems.length > 0) throw new ConfigError(env.problems);
  return Object.freeze(config);
}
