/** The role of a topic: its name without prefix and version. `retry` stands for one topic per tier. */
type TopicRole =
  | 'inbox'
  | 'log'
  | 'sequences'
  | 'attempts'
  | 'attempts-slow'
  | 'retry'
  | 'deliveries'
  | 'dead-letter'
  | 'staff-alerts';

/** The public facts of a stage: its port, its topics, and how operators run it. */
export interface StageDefinition {
  /** The port of its HTTP side, unless `PORT` is set. */
  readonly port: number;
  /**
   * The thread of the standalone process that runs the stage: `main` for ingest, projections and alerts, `push` for delivery.
   */
  readonly thread: 'main' | 'push';
  /** The stage's consumer groups, without the topic prefix, and the topics that each reads. */
  readonly consumers: Readonly<Record<string, readonly TopicRole[]>>;
  readonly writes: readonly TopicRole[];
  readonly answers: string;
  readonly howMany: string;
}

const HEALTH = '`/health/live`, `/health/ready`, `/metrics`';
const PER_PARTITION = 'up to one for each partition';
const QUICK_TAKEOVER = `${PER_PARTITION}; two for a quick takeover`;

/**
 * Every stage of Gapless. All lists of stages (processes, ports, tests, deployment checks, docs) come from here, so
 * that none lacks a stage.
 */
export const STAGES = {
  api: {
    port: 3000,
    thread: 'main',
    consumers: {},
    writes: ['inbox', 'deliveries', 'attempts'],
    answers: 'the API, `/docs`, `/health/*`, `/metrics`',
    howMany: 'any; two or more behind a load balancer',
  },
  sequencer: {
    port: 3001,
    thread: 'main',
    consumers: { sequencer: ['inbox'] },
    writes: ['log', 'sequences', 'dead-letter'],
    answers: HEALTH,
    howMany: QUICK_TAKEOVER,
  },
  dispatcher: {
    port: 3003,
    thread: 'push',
    consumers: {
      router: ['log'],
      dispatcher: ['attempts'],
      'dispatcher-slow': ['attempts-slow'],
      'dispatcher-retry': ['retry'],
    },
    writes: ['deliveries', 'attempts', 'attempts-slow', 'retry', 'dead-letter'],
    answers: HEALTH,
    howMany: PER_PARTITION,
  },
  projector: {
    port: 3004,
    thread: 'main',
    consumers: { 'projector-feed': ['log'], 'projector-deliveries': ['deliveries'] },
    writes: ['dead-letter'],
    answers: HEALTH,
    howMany: PER_PARTITION,
  },
  alerting: {
    port: 3005,
    thread: 'main',
    consumers: { alerting: ['log'] },
    writes: ['inbox', 'staff-alerts'],
    answers: HEALTH,
    howMany: QUICK_TAKEOVER,
  },
} as const satisfies Record<string, StageDefinition>;

export type StageName = keyof typeof STAGES;

/** The stages in the order of their ports. */
export const STAGE_NAMES = Object.keys(STAGES) as readonly StageName[];

/**
 * The order in which to replace processes by those of a new version: readers of a topic before its writers. The
 * exception is alerting, which reads the sequencer's log but comes after it. It writes to the inbox, and the log is a
 * public format.
 */
export const UPGRADE_ORDER: readonly StageName[] = ['projector', 'dispatcher', 'sequencer', 'alerting', 'api'];
