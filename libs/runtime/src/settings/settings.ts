import { parseOrgId, type OrgId } from '#libs/domain';
import { KAFKA_SASL, type Config } from './config.js';
import { DAY_MS, parseDuration } from './duration.js';
import type { Setting, WhenUnset } from './setting.js';
import { parseNetworks, parsePorts, type Network, type Ports } from '../networks/index.js';
import { STAGE_NAMES, STAGES } from '../stages.js';
import {
  parseAccent,
  parseAddressPorts,
  parseBoolean,
  parseByteRate,
  parseDomains,
  parseEncryptionKeys,
  parseFile,
  parseHostPorts,
  parseInteger,
  parseOrigins,
  parseRate,
  parseSchedule,
  parseSize,
  parseUrl,
  parseUrls,
  unlessRefused,
} from './setting-values.js';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

const REQUIRED: WhenUnset<never> = { kind: 'required' };
const ABSENT: WhenUnset<null> = { kind: 'absent', value: null };

const OTHER_STAGES = STAGE_NAMES.filter((name) => name !== 'api');
const OTHER_PORTS = OTHER_STAGES.map((name) => STAGES[name].port);
/** The stages that listen in a process of their own, with their ports; all except the api. */
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

function optionalText(name: string, expected: string, meaning: string): Setting<string | null> {
  return setting<string | null>(name, ABSENT, expected, (text) => text, meaning);
}

function optionalFile(name: string, meaning: string): Setting<string | null> {
  return setting<string | null>(name, ABSENT, 'the path of a file that can be read', parseFile, meaning);
}

function networks(name: string, meaning: string): Setting<readonly Network[]> {
  const expected = 'CIDR blocks such as 10.0.0.0/8 or fd00::/8, comma-separated';
  const parse = (text: string) => unlessRefused(() => parseNetworks(text));
  return setting<readonly Network[]>(name, { kind: 'absent', value: [] }, expected, parse, meaning);
}

function duration(name: string, fallback: string, meaning: string): Setting<number> {
  const expected = 'a duration such as 500ms, 10s, 5m, 6h or 30d';
  return setting(name, byDefault(fallback), expected, parseDuration, meaning);
}

/** A duration that timers wait for. Node's timers take at most 24 days; a longer one ends at once. */
function wait(name: string, fallback: string, meaning: string): Setting<number> {
  const parse = (text: string) => {
    const ms = parseDuration(text);
    return ms === undefined || ms > DAY_MS ? undefined : ms;
  };
  const expected = 'a duration of at most 1d, such as 500ms, 10s or 5m';
  return setting(name, byDefault(fallback), expected, parse, `${meaning}; at most \`1d\``);
}

function flag(name: string, fallback: boolean, meaning: string): Setting<boolean> {
  return setting(name, byDefault(String(fallback)), 'true or false', parseBoolean, meaning);
}

function optionalUrl(name: string, protocols: readonly string[], meaning: string): Setting<string | null> {
  const expected = `an ${protocols.map((protocol) => `${protocol}//`).join(' or ')} url`;
  return setting<string | null>(name, ABSENT, expected, (text) => parseUrl(text, ...protocols), meaning);
}

/** Replicas are looked at every second, so a healthy one may seem to be two seconds behind. */
const LEAST_REPLICA_LAG_MS = 3_000;
const MOST_REPLICA_LAG_MS = 60_000;

/** Every setting of a process, in the order of docs/settings.md. */
export const SETTINGS: { readonly [Key in keyof Config]: Setting<Config[Key]> } = {
  databaseUrl: secret(
    setting(
      'DATABASE_URL',
      REQUIRED,
      'postgres://user:password@host:port/database, with a % in the password as %25',
      (text) => parseUrl(text, 'postgres:', 'postgresql:'),
      'Postgres 16 or later; if unset, `npm start` runs its own under `DATA_DIR`',
    ),
  ),
  tenantDatabaseUrl: secret(
    setting<string | null>(
      'TENANT_DATABASE_URL',
      ABSENT,
      'postgres://user:password@host:port/database, or off',
      (text) => (text === 'off' ? text : parseUrl(text, 'postgres:', 'postgresql:')),
      'the account for the queries of requests, in the role `gapless_tenant`; if unset, Gapless makes one; `off` for none',
    ),
  ),
  projectionDatabaseUrls: secret(
    setting<readonly string[]>(
      'PROJECTION_DATABASE_URLS',
      { kind: 'absent', value: [] },
      'postgres://user:password@host:port/database,…',
      (text) => parseUrls(text, 'postgres:', 'postgresql:'),
      'the databases that share the feed, comma-separated; `DATABASE_URL` may be one of them; if unset, it holds all of it',
    ),
  ),
  databaseReadUrls: secret(
    setting<readonly string[]>(
      'DATABASE_READ_URLS',
      { kind: 'absent', value: [] },
      'postgres://user:password@host:port/database,…',
      (text) => parseUrls(text, 'postgres:', 'postgresql:'),
      'streaming replicas that the api reads older pages of the feed from, comma-separated',
    ),
  ),
  replicaMaxLagMs: setting(
    'REPLICA_MAX_LAG',
    byDefault('10s'),
    'a duration from 3s to 60s',
    (text) => {
      const ms = parseDuration(text) ?? 0;
      return ms < LEAST_REPLICA_LAG_MS || ms > MOST_REPLICA_LAG_MS ? undefined : ms;
    },
    'how far a replica may be behind, 3s to 60s; one that is further behind is not read from',
  ),
  kafkaBrokers: setting(
    'KAFKA_BROKERS',
    REQUIRED,
    'host:port, comma-separated',
    parseHostPorts,
    'the brokers to connect to first; if unset, `npm start` runs its own under `DATA_DIR`',
  ),
  kafkaTls: flag(
    'KAFKA_TLS',
    false,
    'whether to connect to the brokers with TLS, which checks their certificates and names',
  ),
  kafkaCaFile: optionalFile(
    'KAFKA_CA_FILE',
    'PEM file of the authorities that sign the brokers’ certificates; if unset, those of Node',
  ),
  kafkaCertFile: optionalFile('KAFKA_CERT_FILE', 'PEM file of the client certificate, if the brokers require one'),
  kafkaKeyFile: optionalFile('KAFKA_KEY_FILE', 'PEM file of its private key'),
  kafkaSasl: setting<(typeof KAFKA_SASL)[number] | null>(
    'KAFKA_SASL',
    ABSENT,
    KAFKA_SASL.join(', '),
    (text) => KAFKA_SASL.find((mechanism) => mechanism === text.toLowerCase()),
    '`plain`, `scram-sha-256`, `scram-sha-512` or `oauthbearer`; if unset, connections have no user',
  ),
  kafkaUsername: optionalText('KAFKA_USERNAME', 'a name', 'the SASL user; with `oauthbearer`, the id of the client'),
  kafkaPassword: secret(
    optionalText('KAFKA_PASSWORD', 'a password', 'the SASL password; with `oauthbearer`, the secret of the client'),
  ),
  kafkaTokenUrl: optionalUrl(
    'KAFKA_TOKEN_URL',
    ['https:', 'http:'],
    'with `oauthbearer`: where tokens are issued, by the client credentials grant',
  ),
  kafkaTokenScope: optionalText('KAFKA_TOKEN_SCOPE', 'a scope', 'with `oauthbearer`: the scope to ask for, if any'),
  dataDir: setting(
    'DATA_DIR',
    byDefault('.data'),
    'a path',
    (text) => text,
    'the folder for the embedded servers, `credentials.json` and the embedded encryption key',
  ),
  host: setting(
    'HOST',
    byDefault('127.0.0.1'),
    'a host name or address',
    (text) => text,
    'the address that HTTP listens on; `0.0.0.0` in a container',
  ),
  port: integer('PORT', STAGES.api.port, 0, 65_535, `the port that HTTP listens on; started alone, ${LISTENING}`),
  partitions: integer(
    'PARTITIONS',
    12,
    1,
    1_000,
    'partitions of each topic; fixed once the topics exist; 4 on the embedded broker',
  ),
  topicPrefix: setting(
    'TOPIC_PREFIX',
    byDefault('gapless'),
    'letters, digits, - and _',
    (text) => (/^[\w-]{1,60}$/.test(text) ? text : undefined),
    'the prefix of the names of topics and consumer groups',
  ),
  migrateAtStart: flag(
    'MIGRATE_AT_START',
    true,
    'whether a process migrates the schema when it starts; if not, it waits for `gapless migrate`',
  ),
  retrySchedule: setting(
    'RETRY_SCHEDULE',
    byDefault('10s,1m,5m,15m,1h,2h,4h,6h'),
    'up to 20 durations such as 10s,1m,5m',
    parseSchedule,
    'the delays before the retries, at most 20, in `ms`, `s`, `m` or `h`; one topic for each; can be changed at any time',
  ),
  deliveryTimeoutMs: wait(
    'DELIVERY_TIMEOUT',
    '10s',
    'the longest time from the start of the connection to the response headers',
  ),
  autoDisableAfter: integer(
    'AUTO_DISABLE_AFTER',
    20,
    1,
    1_000_000,
    'failed attempts in a row until an endpoint is disabled',
  ),
  retentionMs: duration('RETENTION', '30d', 'how long the feed keeps an event after its append'),
  auditRetentionMs: duration(
    'AUDIT_RETENTION',
    '365d',
    'how long Gapless keeps an entry of the audit log, and a key that has ended',
  ),
  sweepIntervalMs: wait(
    'SWEEP_INTERVAL',
    '5s',
    'how often alerting looks at all live chats that wait, besides the moments at which they pass a threshold',
  ),
  allowHttpUrls: flag(
    'ALLOW_HTTP_URLS',
    false,
    'allows endpoints without TLS; for development and tests only; on with the embedded servers',
  ),
  allowedPrivateNetworks: networks(
    'ALLOWED_PRIVATE_NETWORKS',
    'CIDRs that endpoints may be in; for development and tests only; loopback with the embedded servers',
  ),
  deniedNetworks: networks(
    'DENIED_NETWORKS',
    'CIDRs that no endpoint may be in, such as your own public ranges; private ones need no entry',
  ),
  allowedPorts: setting<Ports>(
    'ALLOWED_PORTS',
    byDefault('443,1024-65535'),
    'ports and ranges of ports such as 443,1024-65535',
    (text) => unlessRefused(() => parsePorts(text)),
    'the ports that endpoints may use; `ALLOW_HTTP_URLS` adds 80',
  ),
  egressProxy: secret(
    optionalUrl(
      'EGRESS_PROXY',
      ['http:', 'https:'],
      '`http://user:password@host:port` of a proxy that all pushes go through by `CONNECT`; if unset, they go directly',
    ),
  ),
  secretEncryptionKeys: secret(
    setting(
      'SECRET_ENCRYPTION_KEYS',
      REQUIRED,
      '<id>:<base64 of 32 bytes>, comma-separated, each id once (make a key with: openssl rand -base64 32)',
      parseEncryptionKeys,
      '`<id>:<base64 of 32 bytes>,…`; the first encrypts, all decrypt; generated for the embedded servers',
    ),
  ),
  maxEndpointsPerOrg: integer(
    'MAX_ENDPOINTS_PER_ORG',
    50,
    1,
    100_000,
    'how many endpoints an organization may register',
  ),
  maxApiKeysPerOrg: integer(
    'MAX_API_KEYS_PER_ORG',
    100,
    1,
    100_000,
    'how many API keys of an organization may be valid at the same time',
  ),
  maxCursorsPerOrg: integer(
    'MAX_CURSORS_PER_ORG',
    100,
    1,
    1_000,
    'how many named cursors of the feed an organization may have',
  ),
  maxMcpSubscriptionsPerOrg: integer(
    'MAX_MCP_SUBSCRIPTIONS_PER_ORG',
    100,
    1,
    10_000,
    'how many webhook subscriptions the agents of an organization may have',
  ),
  maxStreams: integer(
    'MAX_STREAMS',
    1_000,
    1,
    100_000,
    'how many streams of the feed a process keeps open at once; an organization may have half of what the others leave',
  ),
  maxStreamsPerKey: integer(
    'MAX_STREAMS_PER_KEY',
    200,
    1,
    100_000,
    'how many of them one API key may have open at once',
  ),
  streamMemoryBytes: setting(
    'STREAM_MEMORY',
    byDefault('16MiB'),
    'a size, such as 16MiB',
    parseSize,
    'bytes of pages that streams may hold for slow readers in a process, and of other unread answers; a key (answers: organization) gets half of what the others leave',
  ),
  rateLimitPerSecond: setting(
    'RATE_LIMIT',
    byDefault('100/s'),
    '<n>/s, such as 100/s',
    parseRate,
    'requests per API key and process, burst twice that; ingest counts events, at 20 × that',
  ),
  rateLimitBytesPerSecond: setting(
    'RATE_LIMIT_BYTES',
    byDefault('4MiB/s'),
    '<size>/s, such as 512KiB/s or 4MiB/s',
    parseByteRate,
    'bytes of request bodies per API key and process, burst twice that',
  ),
  rateLimitChangesPerSecond: setting(
    'RATE_LIMIT_CHANGES',
    byDefault('10/s'),
    '<n>/s, such as 10/s',
    parseRate,
    'changes of endpoints, secrets, API keys, live-chat settings, cursors and subscriptions of agents (contract 9), per organization and process, burst 20 times that; service keys have no limit',
  ),
  maxPendingIngestBytes: setting(
    'MAX_PENDING_INGEST',
    byDefault('128MiB'),
    'a size of at least 8MiB, such as 64MiB or 1GiB',
    (text) => {
      const bytes = parseSize(text);
      // An organization gets half of it, which must hold the largest request.
      return bytes === undefined || bytes < 8 * 1_024 ** 2 ? undefined : bytes;
    },
    'bytes of request bodies in the memory of a process, such as events that wait for Kafka, at least 8MiB; each organization gets half of what the others leave',
  ),
  dnsServers: setting<readonly string[]>(
    'DNS_SERVERS',
    { kind: 'absent', value: [] },
    'ip:port, comma-separated',
    parseAddressPorts,
    "`ip:port,…`, the servers that resolve endpoint hosts; if unset, the system's",
  ),
  smtpUrl: secret(
    optionalUrl(
      'SMTP_URL',
      ['smtp:', 'smtps:'],
      '`smtps://user:password@host:port/?from=<address>`; if unset, Gapless sends no mail; `smtp://` with a password requires STARTTLS',
    ),
  ),
  alertMailsPerHour: integer(
    'ALERT_MAILS_PER_HOUR',
    200,
    0,
    1_000_000,
    'mails of staff alerts per organization, hour and process; each goes to at most 50 addresses. `0`: no limit',
  ),
  alertMailDomains: setting<readonly string[]>(
    'ALERT_MAIL_DOMAINS',
    { kind: 'absent', value: [] },
    'domains such as example.com, comma-separated',
    parseDomains,
    'the domains whose addresses may get staff alerts, without their subdomains; if unset, any',
  ),
  publicUrl: optionalUrl(
    'PUBLIC_URL',
    ['http:', 'https:'],
    'the URL of this Gapless, for links in mails and to the portal; only pages of its host and of localhost may call `/mcp`; with `https:`, `X-Forwarded-Proto` decides whether cookies are `Secure`',
  ),
  portalOrigins: setting<readonly string[]>(
    'PORTAL_ORIGINS',
    { kind: 'absent', value: [] },
    'origins such as https://app.example.com, comma-separated',
    parseOrigins,
    'the origins whose pages may embed the customer portal; `https://*.example.com` for all hosts of a domain',
  ),
  portalName: setting<string | null>(
    'PORTAL_NAME',
    ABSENT,
    'a name of at most 60 characters',
    (text) => (text.length <= 60 ? text : undefined),
    'the name that the customer portal shows; if unset, none',
  ),
  portalLogoUrl: optionalUrl(
    'PORTAL_LOGO_URL',
    ['https:'],
    'the url of the logo in the customer portal; if unset, none',
  ),
  portalAccent: setting<string | null>(
    'PORTAL_ACCENT',
    ABSENT,
    'a colour such as #2f5bd8, dark enough for white text on it',
    parseAccent,
    'the colour of buttons and links in the customer portal, such as `#2f5bd8`; white text on it must be readable',
  ),
  operationsOrgId: setting<OrgId | null>(
    'OPERATIONS_ORG_ID',
    ABSENT,
    'a UUID',
    parseOrgId,
    'the organization that gets events about the endpoints of all organizations; if unset, none does',
  ),
  trustedProxies: networks(
    'TRUSTED_PROXIES',
    'CIDRs of the proxies before the api, whose `X-Forwarded-For` and `X-Forwarded-Proto` count',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    byDefault('info'),
    LOG_LEVELS.join(', '),
    (text) => (LOG_LEVELS.includes(text) ? text : undefined),
    'the lowest level to log: `fatal` … `trace`, `silent`',
  ),
  otlpEndpoint: optionalUrl(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    ['http:', 'https:'],
    'the URL of a collector that takes OTLP over HTTP; if unset, no spans are sent',
  ),
};
