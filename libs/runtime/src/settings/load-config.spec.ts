import { describe, expect, it } from '@jest/globals';
import { ConfigError } from './config.js';
import { inspectConfig, loadConfig } from './load-config.js';
import type { Environment } from './setting.js';
import { SETTINGS } from './settings.js';

const KEY = `first:${Buffer.alloc(32, 1).toString('base64')}`;
const REQUIRED = {
  DATABASE_URL: 'postgres://gapless:hunter2@db.example.com:5432/gapless',
  KAFKA_BROKERS: 'kafka-1:9092,kafka-2:9092',
  SECRET_ENCRYPTION_KEYS: KEY,
};

function problemsOf(environment: Environment): readonly string[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('loadConfig', () => {
  it('has the defaults of contract 11', () => {
    expect(loadConfig(REQUIRED)).toMatchObject({
      databaseUrl: REQUIRED.DATABASE_URL,
      kafkaBrokers: ['kafka-1:9092', 'kafka-2:9092'],
      dataDir: '.data',
      host: '127.0.0.1',
      port: 3000,
      partitions: 12,
      topicPrefix: 'gapless',
      migrateAtStart: true,
      retrySchedule: [10_000, 60_000, 300_000, 900_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000],
      deliveryTimeoutMs: 10_000,
      autoDisableAfter: 20,
      retentionMs: 30 * 86_400_000,
      sweepIntervalMs: 5_000,
      allowHttpUrls: false,
      allowedPrivateNetworks: [],
      deniedNetworks: [],
      allowedPorts: [
        { first: 443, last: 443 },
        { first: 1_024, last: 65_535 },
      ],
      secretEncryptionKeys: KEY,
      rateLimitPerSecond: 100,
      rateLimitBytesPerSecond: 4 * 1_024 ** 2,
      rateLimitChangesPerSecond: 10,
      maxPendingIngestBytes: 128 * 1_024 ** 2,
      maxEndpointsPerOrg: 50,
      maxApiKeysPerOrg: 100,
      maxCursorsPerOrg: 100,
      maxMcpSubscriptionsPerOrg: 100,
      maxStreams: 1_000,
      maxStreamsPerKey: 200,
      streamMemoryBytes: 16 * 1_024 ** 2,
      dnsServers: [],
      smtpUrl: null,
      alertMailsPerHour: 200,
      alertMailDomains: [],
      publicUrl: null,
      portalOrigins: [],
      portalName: null,
      portalLogoUrl: null,
      portalAccent: null,
      logLevel: 'info',
      otlpEndpoint: null,
    });
  });

  it('reads what is set', () => {
    expect(
      loadConfig({
        ...REQUIRED,
        HOST: '0.0.0.0',
        PORT: '8080',
        RETRY_SCHEDULE: '250ms, 2s,1m',
        DELIVERY_TIMEOUT: '3s',
        AUTO_DISABLE_AFTER: '5',
        RETENTION: '7d',
        SWEEP_INTERVAL: '500ms',
        ALLOW_HTTP_URLS: 'true',
        ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
        RATE_LIMIT: '7/s',
        RATE_LIMIT_BYTES: '512KiB/s',
        RATE_LIMIT_CHANGES: '3/s',
        MAX_PENDING_INGEST: '1GiB',
        DNS_SERVERS: '127.0.0.1:53,[::1]:5353',
        SMTP_URL: 'smtps://user:hunter2@mail.example.com',
        ALERT_MAILS_PER_HOUR: '0',
        ALERT_MAIL_DOMAINS: 'Example.com, chat.example.org',
        PUBLIC_URL: 'https://gapless.example.com',
        LOG_LEVEL: 'debug',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
      }),
    ).toMatchObject({
      host: '0.0.0.0',
      port: 8080,
      retrySchedule: [250, 2_000, 60_000],
      deliveryTimeoutMs: 3_000,
      autoDisableAfter: 5,
      retentionMs: 7 * 86_400_000,
      sweepIntervalMs: 500,
      allowHttpUrls: true,
      allowedPrivateNetworks: [{ cidr: '127.0.0.0/8' }],
      rateLimitPerSecond: 7,
      rateLimitBytesPerSecond: 512 * 1_024,
      rateLimitChangesPerSecond: 3,
      maxPendingIngestBytes: 1_024 ** 3,
      dnsServers: ['127.0.0.1:53', '[::1]:5353'],
      smtpUrl: 'smtps://user:hunter2@mail.example.com',
      alertMailsPerHour: 0,
      alertMailDomains: ['example.com', 'chat.example.org'],
      publicUrl: 'https://gapless.example.com',
      logLevel: 'debug',
      otlpEndpoint: 'http://collector:4318',
    });
  });

  it('reads how the portal looks, and who may embed it', () => {
    const origins = 'https://app.example.com, https://*.example.org:8443,http://localhost:5173';
    expect(loadConfig({ ...REQUIRED, PORTAL_ORIGINS: origins, PORTAL_ACCENT: '#7A1FA2' })).toMatchObject({
      portalOrigins: ['https://app.example.com', 'https://*.example.org:8443', 'http://localhost:5173'],
      portalAccent: '#7a1fa2',
    });
  });

  it('takes a variable that is set to nothing as unset', () => {
    expect(loadConfig({ ...REQUIRED, PORT: '', RETENTION: ' ' })).toEqual(loadConfig(REQUIRED));
  });

  it('cannot be changed', () => {
    expect(Object.isFrozen(loadConfig(REQUIRED))).toBe(true);
  });

  it('reports every problem at once, each by its name', () => {
    const problems = problemsOf({ PORT: '65536', RETENTION: 'long', ALLOW_HTTP_URLS: 'yes', RATE_LIMIT: '0/s' });
    const names = problems.map((problem) => /^[A-Z_]+/.exec(problem)?.[0]);
    expect(names.sort()).toEqual(
      [
        'DATABASE_URL',
        'KAFKA_BROKERS',
        'PORT',
        'RETENTION',
        'ALLOW_HTTP_URLS',
        'SECRET_ENCRYPTION_KEYS',
        'RATE_LIMIT',
      ].sort(),
    );
    expect(new ConfigError(problems).message).toContain('PORT=65536: expected an integer from 0 to 65535');
  });

  it.each([
    ['DATABASE_URL', 'mysql://localhost/gapless'],
    ['DATABASE_URL', 'localhost:5432'],
    ['DATABASE_URL', 'postgres://gapless:100%@localhost/gapless'],
    ['EGRESS_PROXY', 'http://gapless:100%@localhost:4750'],
    ['KAFKA_BROKERS', 'kafka'],
    ['KAFKA_BROKERS', 'kafka:9092,'],
    ['KAFKA_BROKERS', 'kafka:90920'],
    ['PORTAL_ORIGINS', 'https://app.example.com/'],
    ['PORTAL_ORIGINS', 'app.example.com'],
    ['PORTAL_ORIGINS', '*'],
    ['PORTAL_ORIGINS', "https://a.example.com; script-src 'unsafe-inline'"],
    ['PORTAL_ORIGINS', 'https://a.*.com'],
    ['PORTAL_NAME', 'x'.repeat(61)],
    ['PORTAL_LOGO_URL', 'http://cdn.example.com/logo.svg'],
    ['PORTAL_ACCENT', 'purple'],
    ['PORTAL_ACCENT', '#ffcc00'],
    ['PORT', '-1'],
    ['PORT', '3000.5'],
    ['PARTITIONS', '0'],
    ['TOPIC_PREFIX', 'a b'],
    ['RETRY_SCHEDULE', '10s,,1m'],
    ['RETRY_SCHEDULE', '10'],
    ['RETRY_SCHEDULE', Array.from({ length: 21 }, () => '1s').join(',')],
    ['DELIVERY_TIMEOUT', '0s'],
    ['AUTO_DISABLE_AFTER', '0'],
    ['SECRET_ENCRYPTION_KEYS', 'first:c2hvcnQ='],
    ['SECRET_ENCRYPTION_KEYS', Buffer.alloc(32).toString('base64')],
    ['SECRET_ENCRYPTION_KEYS', `${KEY},`],
    ['SECRET_ENCRYPTION_KEYS', `${KEY}, first:${Buffer.alloc(32, 2).toString('base64')}`],
    ['RATE_LIMIT', '100'],
    ['RATE_LIMIT', '100/m'],
    ['RATE_LIMIT_BYTES', '8MiB'],
    ['RATE_LIMIT_BYTES', '8/s'],
    ['RATE_LIMIT_BYTES', '0MiB/s'],
    ['RATE_LIMIT_CHANGES', '0/s'],
    ['MAX_PENDING_INGEST', '4MiB'],
    ['MAX_PENDING_INGEST', '128'],
    ['DNS_SERVERS', '127.0.0.1'],
    ['DNS_SERVERS', 'dns.example.com:53'],
    ['DELIVERY_TIMEOUT', '86400001ms'],
    ['SWEEP_INTERVAL', '30d'],
    ['DNS_SERVERS', '127.0.0.1:65536'],
    ['ALLOWED_PRIVATE_NETWORKS', 'all'],
    ['DENIED_NETWORKS', '10.0.0.0'],
    ['DENIED_NETWORKS', '10.0.0.0/8, 10.0.0.0/33'],
    ['TRUSTED_PROXIES', '10.0.0.1'],
    ['ALLOWED_PORTS', '0'],
    ['ALLOWED_PORTS', '443,70000'],
    ['ALLOWED_PORTS', '9-1'],
    ['SMTP_URL', 'https://mail.example.com'],
    ['ALERT_MAILS_PER_HOUR', '-1'],
    ['ALERT_MAIL_DOMAINS', 'example'],
    ['ALERT_MAIL_DOMAINS', '*.example.com'],
    ['ALERT_MAIL_DOMAINS', 'mara@example.com'],
    ['PUBLIC_URL', 'gapless.example.com'],
    ['LOG_LEVEL', 'loud'],
  ])('refuses %s=%s', (name, text) => {
    expect(problemsOf({ ...REQUIRED, [name]: text })).toEqual([expect.stringMatching(`^${name}=`)]);
  });

  it('refuses files that are not there, and folders', () => {
    const files = {
      KAFKA_CA_FILE: '/missing/ca.pem',
      KAFKA_CERT_FILE: import.meta.dirname,
      KAFKA_KEY_FILE: '/missing',
    };
    const problems = problemsOf({ ...REQUIRED, KAFKA_TLS: 'true', ...files });
    expect(problems).toEqual(
      Object.keys(files).map((name) => expect.stringMatching(`^${name}=.* file that can be read`)),
    );
    const there = { KAFKA_TLS: 'true', KAFKA_CA_FILE: import.meta.filename };
    expect(loadConfig({ ...REQUIRED, ...there })).toMatchObject({ kafkaCaFile: import.meta.filename });
  });

  it.each([
    ['DATABASE_URL', 'mysql://gapless:hunter2@localhost/gapless'],
    ['SECRET_ENCRYPTION_KEYS', 'first:hunter2'],
    ['SMTP_URL', 'smpt://user:hunter2@mail.example.com'],
  ])('does not show the secret in a bad %s', (name, text) => {
    const [problem] = problemsOf({ ...REQUIRED, [name]: text });
    expect(problem).toContain(name);
    expect(problem).not.toContain('hunter2');
  });
});

describe('inspectConfig', () => {
  it('shows the value of every setting and where it comes from', () => {
    const { settings, problems } = inspectConfig({ ...REQUIRED, PORT: '8080' });
    expect(problems).toEqual([]);
    expect(settings.map(({ name }) => name)).toEqual(Object.values(SETTINGS).map(({ name }) => name));
    expect(settings).toContainEqual({ name: 'PORT', shown: '8080', source: 'environment' });
    expect(settings).toContainEqual({ name: 'RETENTION', shown: '30d', source: 'default' });
    expect(settings).toContainEqual({ name: 'DNS_SERVERS', shown: null, source: 'default' });
  });

  it('shows no secret, good or bad', () => {
    const good = inspectConfig({ ...REQUIRED, SMTP_URL: 'smtps://user:hunter2@mail.example.com' });
    const bad = inspectConfig({ DATABASE_URL: 'mysql://u:hunter2@x', SECRET_ENCRYPTION_KEYS: 'first:hunter2' });
    expect(good.settings).toContainEqual({ name: 'DATABASE_URL', shown: 'set', source: 'environment' });
    expect(JSON.stringify([good, bad])).not.toMatch(/hunter2|AQEB/);
  });

  it('finds just the problems that stop a start', () => {
    const environment = { PORT: '65536', RETENTION: 'long' };
    const { settings, problems } = inspectConfig(environment);
    expect(problems).toEqual(problemsOf(environment));
    expect(settings.filter(({ source }) => source === 'problem').map(({ name }) => name)).toEqual([
      'DATABASE_URL',
      'KAFKA_BROKERS',
      'PORT',
      'RETENTION',
      'SECRET_ENCRYPTION_KEYS',
    ]);
  });
});
