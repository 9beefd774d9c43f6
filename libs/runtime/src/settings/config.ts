import { OperatorError, type OrgId, type RetrySchedule } from '#libs/domain';
import type { Network, Ports } from '../networks/index.js';

/** How clients of Kafka authenticate. */
export const KAFKA_SASL = ['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'] as const;
export type KafkaSasl = (typeof KAFKA_SASL)[number];

/** The settings of a process (contract 11). Durations are milliseconds. */
export interface Config {
  readonly databaseUrl: string;
  /** `off`: requests share the connections of the stages. */
  readonly tenantDatabaseUrl: string | null;
  /** The databases that share the feed, by place; none: the main one holds all of it. */
  readonly projectionDatabaseUrls: readonly string[];
  /** Standbys of these databases that the api reads pages of the feed from. */
  readonly databaseReadUrls: readonly string[];
  /** A standby that is further behind is not read from. */
  readonly replicaMaxLagMs: number;
  readonly kafkaBrokers: readonly string[];
  readonly kafkaTls: boolean;
  /** Paths of PEM files. */
  readonly kafkaCaFile: string | null;
  readonly kafkaCertFile: string | null;
  readonly kafkaKeyFile: string | null;
  readonly kafkaSasl: KafkaSasl | null;
  /** With `oauthbearer`, the client's id. */
  readonly kafkaUsername: string | null;
  /** With `oauthbearer`, the client's secret. */
  readonly kafkaPassword: string | null;
  readonly kafkaTokenUrl: string | null;
  readonly kafkaTokenScope: string | null;
  /** The directory of the embedded servers, also for processes that look for them. */
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  /**
   * The number of partitions of each topic, except for compacted topics with other needs. Orgs and endpoints are spread
   * over them.
   */
  readonly partitions: number;
  /** The prefix of topic and consumer group names. */
  readonly topicPrefix: string;
  /** Whether a process migrates the schema at its start, instead of waiting until another one has. */
  readonly migrateAtStart: boolean;
  readonly retrySchedule: RetrySchedule;
  readonly deliveryTimeoutMs: number;
  readonly autoDisableAfter: number;
  readonly retentionMs: number;
  /** How long the audit log keeps an entry. */
  readonly auditRetentionMs: number;
  readonly sweepIntervalMs: number;
  readonly allowHttpUrls: boolean;
  readonly allowedPrivateNetworks: readonly Network[];
  readonly deniedNetworks: readonly Network[];
  readonly allowedPorts: Ports;
  readonly egressProxy: string | null;
  /** `<id>:<base64 of 32 bytes>`, comma-separated; the first encrypts, all decrypt. */
  readonly secretEncryptionKeys: string;
  readonly rateLimitPerSecond: number;
  /** Bytes of request bodies per API key and process. */
  readonly rateLimitBytesPerSecond: number;
  /** Changes of endpoints and keys per organization and process. */
  readonly rateLimitChangesPerSecond: number;
  /** The most bytes of request bodies in memory, such as events that wait to be written, in one process. */
  readonly maxPendingIngestBytes: number;
  readonly maxEndpointsPerOrg: number;
  readonly maxApiKeysPerOrg: number;
  readonly maxCursorsPerOrg: number;
  readonly maxMcpSubscriptionsPerOrg: number;
  /** The most open streams of the feed, per process and per API key in it. */
  readonly maxStreams: number;
  readonly maxStreamsPerKey: number;
  /** The most bytes of pages that streams hold for their clients, in one process. */
  readonly streamMemoryBytes: number;
  readonly dnsServers: readonly string[];
  readonly smtpUrl: string | null;
  /** The most mails of staff alerts per organization and process; 0 for no limit. */
  readonly alertMailsPerHour: number;
  /** The domains that may get staff alerts, in lower case; none for any. */
  readonly alertMailDomains: readonly string[];
  readonly publicUrl: string | null;
  /** The origins whose pages may embed the portal. */
  readonly portalOrigins: readonly string[];
  readonly portalName: string | null;
  readonly portalLogoUrl: string | null;
  /** A colour, `#rrggbb`. */
  readonly portalAccent: string | null;
  /** The organization that gets operational events. */
  readonly operationsOrgId: OrgId | null;
  readonly trustedProxies: readonly Network[];
  readonly logLevel: string;
  readonly otlpEndpoint: string | null;
}

/** Lists every problem of the environment, with the name of its variable. */
export class ConfigError extends OperatorError {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(`invalid settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}
