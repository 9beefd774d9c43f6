import { LARGEST_BATCH_BYTES } from '../topics/limits.js';
import type { TopicPlan } from '../topics/topics.js';

/** The settings of a topic that the brokers report. */
export interface FoundTopic {
  readonly partitions: number;
  /** The replicas of the partition with the fewest. */
  readonly replicas: number;
  readonly config: ReadonlyMap<string, string>;
}

/** The facts besides the topic that `judgeTopic` needs. */
export interface TopicSurroundings {
  readonly brokers: number;
  /** The number of partitions that an operator accepted, if there are more than the installation has. */
  readonly acceptedPartitions: number;
}

/** Why Gapless cannot work with a topic. */
export interface TopicMisfit {
  readonly reason: string;
  /** The setting that fixes it; `null` if no setting does. */
  readonly alter: { readonly name: string; readonly value: string } | null;
}

export interface TopicVerdict {
  readonly misfits: readonly TopicMisfit[];
  /** Settings that are allowed, but can lose acknowledged events if brokers are lost. */
  readonly risks: readonly string[];
  /** The retention of a topic that keeps records for longer than planned, milliseconds; -1 for no limit. */
  readonly longerMs: number | null;
}

/** The usual number of replicas in production. */
const ENOUGH_REPLICAS = 3;
/** The number of replicas that must have a record before it is acknowledged. */
const ENOUGH_IN_SYNC = 2;

/** Small enough for a few minutes of checkpoints, because only full or old segments are compacted. */
const SMALL_SEGMENTS = {
  'segment.bytes': String(1024 * 1024),
  'segment.ms': String(10 * 60_000),
  'min.cleanable.dirty.ratio': '0.1',
  'delete.retention.ms': String(60 * 60_000),
} as const;

/** With `uncompressed`, brokers unpack the records that producers have compressed. */
export const COMPRESSION = 'compression.type';
export const UNCOMPRESSED = 'uncompressed';

/** Whose clock gives records their time. */
export const TIMESTAMP_TYPE = 'message.timestamp.type';
export const APPEND_TIME = 'LogAppendTime';
export const CREATE_TIME = 'CreateTime';

/** Returns the settings to create a topic with. */
export function configOf(plan: TopicPlan): Readonly<Record<string, string>> {
  return {
    'cleanup.policy': plan.compacted ? 'compact' : 'delete',
    'retention.ms': String(plan.retentionMs),
    // A broker's default could remove records early.
    'retention.bytes': '-1',
    [TIMESTAMP_TYPE]: plan.appendTime ? APPEND_TIME : CREATE_TIME,
    'max.message.bytes': String(LARGEST_BATCH_BYTES),
    ...(plan.smallSegments === true ? SMALL_SEGMENTS : {}),
    ...(plan.unpacks === true ? { [COMPRESSION]: UNCOMPRESSED } : {}),
  };
}

/** The settings that are judged. */
export const JUDGED_SETTINGS: readonly string[] = [
  'cleanup.policy',
  'retention.ms',
  'retention.bytes',
  TIMESTAMP_TYPE,
  'max.message.bytes',
  ...Object.keys(SMALL_SEGMENTS),
  COMPRESSION,
  'unclean.leader.election.enable',
  'min.insync.replicas',
];

/**
 * Returns why a setting does not fit. A topic may keep records longer than needed, or compact more often, but not the
 * reverse.
 */
function misfitOf(name: string, actual: string, wanted: string, plan: TopicPlan): string | null {
  switch (name) {
    case 'retention.ms':
      if (plan.compacted || Number(actual) === -1 || Number(actual) >= plan.retentionMs) return null;
      return `keeps records for ${actual} ms, at least ${wanted} ms are needed`;
    case 'max.message.bytes':
      return Number(actual) >= Number(wanted) ? null : `takes ${name} ${actual}, at least ${wanted} are needed`;
    case 'segment.bytes':
    case 'segment.ms':
    case 'min.cleanable.dirty.ratio':
      return Number(actual) <= Number(wanted) ? null : `has ${name}=${actual}, at most ${wanted} is needed`;
    case 'delete.retention.ms':
      return null;
    case TIMESTAMP_TYPE:
      if (plan.takesCreateTime === true) return null;
      return actual === wanted ? null : `has ${name}=${actual}, ${wanted} is needed`;
    default:
      return actual === wanted ? null : `has ${name}=${actual}, ${wanted} is needed`;
  }
}

function judgePartitions(plan: TopicPlan, actual: number, accepted: number): readonly TopicMisfit[] {
  if (actual === plan.partitions || (actual > plan.partitions && actual <= accepted)) return [];
  const counts = `has ${actual} partitions, PARTITIONS asks for ${plan.partitions}`;
  if (actual < plan.partitions) return [{ reason: counts, alter: null }];
  const wayOut =
    'it was altered, and partitions cannot be removed; stop all processes, then run: npm run -s gapless -- repair';
  return [{ reason: `${counts}: ${wayOut}`, alter: null }];
}

/**
 * Judges the number of replicas. There cannot be more than brokers. If two replicas must both be present, a missing
 * broker stops all writes.
 */
function judgeCopies(found: FoundTopic, brokers: number): Omit<TopicVerdict, 'longerMs'> {
  const { replicas, config } = found;
  const misfits: TopicMisfit[] = [];
  const risks: string[] = [];
  if (config.get('unclean.leader.election.enable') === 'true' && replicas > 1) {
    misfits.push({
      reason:
        'has unclean.leader.election.enable=true, false is needed: a broker that lags could become leader, and acknowledged events would be lost',
      alter: { name: 'unclean.leader.election.enable', value: 'false' },
    });
  }
  const inSync = Number(config.get('min.insync.replicas') ?? ENOUGH_IN_SYNC);
  if (inSync < ENOUGH_IN_SYNC && replicas >= ENOUGH_REPLICAS) {
    misfits.push({
      reason: `has min.insync.replicas=${inSync}, at least ${ENOUGH_IN_SYNC} is needed: events would be acknowledged that only one broker has`,
      alter: { name: 'min.insync.replicas', value: String(ENOUGH_IN_SYNC) },
    });
  }
  const possible = Math.min(ENOUGH_REPLICAS, brokers);
  if (replicas < possible) {
    risks.push(`is on ${replicas} of ${brokers} brokers, ${possible} are needed`);
  } else if (replicas === 2 && inSync < ENOUGH_IN_SYNC) {
    risks.push(`has min.insync.replicas=${inSync} on 2 brokers: events are acknowledged that only one of them has`);
  }
  return { misfits, risks };
}

/** Kafka then has events that the feed no longer shows. That breaks no promise, but may surprise. */
function longerThanPlanned(plan: TopicPlan, found: FoundTopic): number | null {
  const ms = Number(found.config.get('retention.ms') ?? plan.retentionMs);
  return !plan.compacted && (ms === -1 || ms > plan.retentionMs) ? ms : null;
}

/** Says why Gapless does not work with a topic, and what puts its events at risk. */
export function judgeTopic(plan: TopicPlan, found: FoundTopic, around: TopicSurroundings): TopicVerdict {
  const copies = judgeCopies(found, around.brokers);
  const settings = Object.entries(configOf(plan)).flatMap(([name, value]) => {
    const reason = misfitOf(name, found.config.get(name) ?? '', value, plan);
    return reason === null ? [] : [{ reason, alter: { name, value } }];
  });
  return {
    misfits: [...judgePartitions(plan, found.partitions, around.acceptedPartitions), ...settings, ...copies.misfits],
    risks: copies.risks,
    longerMs: longerThanPlanned(plan, found),
  };
}

/** Returns the command that alters a setting, for an operator. */
export function alterText(topic: string, { name, value }: NonNullable<TopicMisfit['alter']>): string {
  return (
    'run: kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics ' +
    `--entity-name ${topic} --add-config ${name}=${value}`
  );
}

/** Describes a misfit for an operator, with the command that corrects it. */
export function misfitText(topic: string, { reason, alter }: TopicMisfit): string {
  return `${topic} ${reason}${alter === null ? '' : `; ${alterText(topic, alter)}`}`;
}
