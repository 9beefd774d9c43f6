import type { Config } from './config.js';
import { parseDuration } from './duration.js';
import type { Setting, WhenUnset } from './setting.js';
import { STAGE_NAMES, STAGES } from './stages.js';
import {
  parseBoolean,
  parseEncryptionKeys,
  parseHostPorts,
  parseInteger,
  parseRate,
  parseSchedule,
  parseUrl,
} from './setting-values.js';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

const REQUIRED: WhenUnset<never> = { kind: 'required' };
const ABSENT: WhenUnset<null> = { kind: 'absent', value: null };

const OTHER_STAGES = STAGE_NAMES.filter((name) => name !== 'api');
const OTHER_PORTS = OTHER_STAGES.map((name) => STAGES[name].port);
/** Where the stages but the api listen, each in a process of its own. */
const LISTENING =
  `${OTHER_STAGES.slice(0, -1).join(', ')} and ${OTHER_STAGES.at(-1)} answer \`/health\` and \`/metrics\` ` +
  `on ${Math.min(...OTHER_PORTS)} … ${Math.max(...OTHER_PORTS)}`;

function byDefault(text: string): WhenUnset<never> {
  return { kind: 'default', text };
}

function setting<Value>(
  name: string,
  whenUnset: WhenUnset<Value>,
  expected: string,
  parse: (text: string) => Value | undefined,
  meaning: string,
): Setting<Value> {
  return { name, whenUnset, expected, parse, meaning, isSecret: false };
}

function secret<Value>(open: Setting<Value>): Setting<Value> {
  return { ...open, isSecret: true };
}

function integer(name: string, fallback: number, min: number, max: number, meaning: string): Setting<number> {
  const expected = `an integer from ${min} to ${max}`;
  return setting(name, byDefault(String(fallback)), expected, (text) => parseInteger(text, min, max), meaning);
}

function duration(name: string, fallback: string, meaning: string): Setting<number> {
  const expected = 'a duration such as 500ms, 10s, 5m, 6h or 30d';
  return setting(name, byDefault(fallback), expected, parseDuration, meaning);
}

function flag(name: string, fallback: boolean, meaning: string): Setting<boolean> {
  return setting(name, byDefault(String(fallback)), 'true or false', parseBoolean, meaning);
}

function optionalUrl(name: string, protocols: readonly string[], meaning: string): Setting<string | null> {
  const expected = `an ${protocols.map((protocol) => `${protocol}//`).join(' or ')} url`;
  return setting<string | null>(name, ABSENT, expected, (text) => parseUrl(text, ...protocols), meaning);
}

/** All that a process can be told, in the order in which people read it. */
export const SETTINGS: { readonly [Key in keyof Config]: Setting<Config[Key]> } = {
  databaseUrl: secret(
    setting(
      'DATABASE_URL',
      REQUIRED,
      'postgres://user:password@host:port/database',
      (text) => parseUrl(text, 'postgres:', 'postgresql:'),
      'Postgres 16 or later; unset, `npm start` runs its own under `DATA_DIR`',
    ),
  ),
  kafkaBrokers: setting(
    'KAFKA_BROKERS',
    REQUIRED,
    'host:port, comma-separated',
    parseHostPorts,
    'the brokers to ask first; unset, `npm start` runs its own under `DATA_DIR`',
  ),
  dataDir: setting(
    'DATA_DIR',
    byDefault('.data'),
    'a path',
    (text) => text,
    'what the embedded servers keep, `credentials.json`, and the embedded encryption key',
  ),
  host: setting(
    'HOST',
    byDefault('127.0.0.1'),
    'a host name or address',
    (text) => text,
    'where HTTP is answered; `0.0.0.0` in a container',
  ),
  port: integer('PORT', STAGES.api.port, 0, 65_535, `where HTTP is answered; alone, ${LISTENING}`),
  partitions: integer(
    'PARTITIONS',
    12,
    1,
    1_000,
    'of each topic; fixed once the topics are there; 4 on the embedded broker',
  ),
  topicPrefix: setting(
    'TOPIC_PREFIX',
    byDefault('gapless'),
    'letters, digits, - and _',
    (text) => (/^[\w-]{1,60}$/.test(text) ? text : undefined),
    'what topic and consumer group names begin with',
  ),
  migrateAtStart: flag(
    'MIGRATE_AT_START',
    true,
    'whether a process brings the schema up to date when it starts; if not, it waits for `gapless migrate`',
  ),
  retrySchedule: setting(
    'RETRY_SCHEDULE',
    byDefault('10s,1m,5m,15m,1h,2h,4h,6h'),
    'up to 20 durations such as 10s,1m,5m',
    parseSchedule,
    'one retry topic for each delay; can be changed at any time; `ms`, `s`, `m`, `h`',
  ),
  deliveryTimeoutMs: duration('DELIVERY_TIMEOUT', '10s', 'from the start of the connection to the response headers'),
  autoDisableAfter: integer('AUTO_DISABLE_AFTER', 20, 1, 1_000_000, 'failed attempts in a row'),
  retentionMs: duration('RETENTION', '30d', 'of the feed, by the time an event was appended'),
  sweepIntervalMs: duration('SWEEP_INTERVAL', '5s', 'how often it is looked who waits too long'),
  allowHttpUrls: flag('ALLOW_HTTP_URLS', false, 'for development and tests only; on with the embedded servers'),
  allowedPrivateNetworks: setting(
    'ALLOWED_PRIVATE_NETWORKS',
    { kind: 'absent', value: '' },
    'CIDRs',
    (text) => text,
    'CIDRs; for development and tests only; loopback with the embedded servers',
  ),
  deniedNetworks: setting(
    'DENIED_NETWORKS',
    { kind: 'absent', value: '' },
    'CIDRs',
    (text) => text,
    'CIDRs that no endpoint may be in, besides everything that is not public: your own public ranges',
  ),
  allowedPorts: setting(
    'ALLOWED_PORTS',
    byDefault('443,1024-65535'),
    'ports and ranges of ports, comma-separated',
    (text) => text,
    'the ports that endpoints may use; where plain http is allowed, 80 is too',
  ),
  secretEncryptionKeys: secret(
    setting(
      'SECRET_ENCRYPTION_KEYS',
      REQUIRED,
      '<id>:<base64 of 32 bytes>, comma-separated (make one with: openssl rand -base64 32)',
      parseEncryptionKeys,
      '`<id>:<base64 of 32 bytes>,…`; the first encrypts, all decrypt; generated with the embedded servers',
    ),
  ),
  maxEndpointsPerOrg: integer('MAX_ENDPOINTS_PER_ORG', 50, 1, 100_000, 'how many an organization may register'),
  maxStreams: integer('MAX_STREAMS', 1_000, 1, 100_000, 'how many streams of the feed a process may have open'),
  maxStreamsPerKey: integer('MAX_STREAMS_PER_KEY', 200, 1, 100_000, 'how many of them one API key may have open'),
  rateLimitPerSecond: setting(
    'RATE_LIMIT',
    byDefault('100/s'),
    '<n>/s, such as 100/s',
    parseRate,
    'per API key, burst twice that; ingest counts events, at 20 × that; kept per process',
  ),
  dnsServers: setting<readonly string[]>(
    'DNS_SERVERS',
    { kind: 'absent', value: [] },
    'ip:port, comma-separated',
    parseHostPorts,
    "`ip:port,…`, asked for every endpoint host; unset, the system's",
  ),
  smtpUrl: secret(
    optionalUrl(
      'SMTP_URL',
      ['smtp:', 'smtps:'],
      '`smtps://user:password@host:port/?from=<address>`; unset, nothing is mailed',
    ),
  ),
  publicUrl: optionalUrl(
    'PUBLIC_URL',
    ['http:', 'https:'],
    'where this Gapless is, for mails; with `https:`, the dashboard’s cookie is marked for https alone',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    byDefault('info'),
    LOG_LEVELS.join(', '),
    (text) => (LOG_LEVELS.includes(text) ? text : undefined),
    '`fatal` … `trace`, `silent`',
  ),
  otlpEndpoint: optionalUrl(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    ['http:', 'https:'],
    'of a collector that takes OTLP over HTTP; set, spans are sent to it',
  ),
};
