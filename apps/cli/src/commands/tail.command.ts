import { Command, InvalidArgumentError } from 'commander';
import { EVENT_TYPES, isFeedFilter, parseOrgId, SeqGate, type Clock, type OrgId } from '#libs/domain';
import { AppendTimes, type Store } from '#libs/postgres';
import {
  followPartitions,
  InstallationTopic,
  isForeign,
  KafkaConnection,
  LogPositions,
  partitionOf,
  readLogRecord,
  readPartitions,
  topicNames,
  type Positions,
  type StoredRecord,
  type TopicNames,
} from '#libs/kafka-log';
import type { Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';
import { openFeed } from '../open-feed.js';
import { findKafka } from '../find-kafka.js';
import { explainKafkaFailure } from './explain-kafka-failure.js';
import { envelopeLine, tailLine, type Colours } from './tail-line.js';
import { parseTailStart, type TailStart } from './tail-start.js';

/** The environment of `tail`. */
export interface TailContext {
  readonly clock: Clock;
  readonly withStore: <T>(act: (store: Store) => Promise<T>) => Promise<T>;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
  readonly colours: Colours;
  /** Whether the output goes to a terminal, which control characters would change. */
  readonly isOutputTerminal: boolean;
  /** Is aborted when nobody reads the output any more. */
  readonly unread: AbortSignal;
  /** Returns a signal that is aborted when the user interrupts. Called once there is something to interrupt. */
  readonly interruption: () => AbortSignal;
}

interface TailFlags {
  readonly org?: OrgId;
  readonly event?: string;
  readonly from?: TailStart;
  readonly json?: boolean;
  readonly follow: boolean;
}

/**
 * `tail`: reads the log of all orgs or of one, and follows it. It selects events by the headers of their records, so it
 * prints the bytes of the log.
 */
export function tailCommand(context: TailContext, environment: Environment = process.env): Command {
  return new Command('tail')
    .description('print the log and follow it until Ctrl-C; from KAFKA_BROKERS, or by default from npm start')
    .option('--org <uuid>', 'only the events of this organization', readOrg)
    .option('--event <type>', 'only events of this type', readEvent)
    .option(
      '--from <seq|time>',
      'where to begin: a seq of the organization (4128), a time (2026-03-01T12:00:00Z) or an age (15m); ' +
        'default: the next event',
      (text) => readFrom(text, context.clock.now()),
    )
    .option('--no-follow', 'exit at the end of the log')
    .option('--json', 'print the envelopes unchanged')
    .action((flags: TailFlags) => tail(context, environment, flags));
}

async function tail(context: TailContext, environment: Environment, flags: TailFlags): Promise<void> {
  const start: TailStart = flags.from ?? { kind: 'next' };
  if (start.kind === 'seq' && flags.org === undefined) {
    throw new CliError('--from with a seq needs --org: each organization has its own seqs');
  }
  const { brokers, connection } = await findKafka(environment);
  const topics = topicNames(environment['TOPIC_PREFIX']?.trim() || 'gapless', []);
  const topic = topics.log;
  try {
    const from = await positionsOf(context, environment, connection, topics, start, flags.org);
    const show = shower(context, flags, start);
    if (flags.follow) {
      if (flags.json !== true) context.print(`Events of ${flags.org ?? 'all organizations'}; press Ctrl-C to exit:`);
      await followPartitions(connection, topic, from, show, context.interruption());
    } else {
      const stretches = [...from].map(([partition, offset]) => ({ topic, partition, from: offset }));
      const showWhileRead = (record: StoredRecord) => {
        context.unread.throwIfAborted();
        show(record);
      };
      await readPartitions(connection, stretches, showWhileRead);
    }
  } catch (error) {
    if (context.unread.aborted) return;
    throw explainKafkaFailure(error, brokers, topic);
  }
}

/** Returns a function that prints the records that the flags select. It prints each seq of an org once. */
function shower(context: TailContext, flags: TailFlags, start: TailStart): (record: StoredRecord) => void {
  const gate = new SeqGate();
  return (record) => {
    if (isForeign(record)) return;
    const event = readLogRecord(record);
    if (flags.org !== undefined && event.orgId !== flags.org) return;
    const { fresh, remember } = gate.sift([event]);
    remember();
    if (fresh.length === 0 || (start.kind === 'seq' && event.seq < start.seq)) return;
    if (flags.event !== undefined && event.event !== flags.event) return;
    const { colours, isOutputTerminal } = context;
    context.print(flags.json === true ? envelopeLine(event, isOutputTerminal) : tailLine(event, colours));
  };
}

/**
 * Returns where to begin in each partition: only in the org's own one, or in all of them. The installation's number of
 * partitions decides where an org is. Others that the topic may have by now are left out.
 */
async function positionsOf(
  context: TailContext,
  environment: Environment,
  connection: KafkaConnection,
  topics: TopicNames,
  start: TailStart,
  org: OrgId | undefined,
): Promise<Positions> {
  const log = new LogPositions(connection);
  const ends = await log.ends(topics.log);
  const installation = await new InstallationTopic(connection, topics.installation).read();
  const partitions = installation?.partitions ?? ends.size;
  const place = org === undefined ? undefined : { orgId: org, partition: partitionOf(org, partitions) };
  const all = await positionsFrom(context, environment, log, topics.log, ends, start, place);
  if (place === undefined) return new Map([...all].filter(([partition]) => partition < partitions));
  return new Map([[place.partition, all.get(place.partition) ?? 0]]);
}

async function positionsFrom(
  context: TailContext,
  environment: Environment,
  log: LogPositions,
  topic: string,
  ends: Positions,
  start: TailStart,
  place: { readonly orgId: OrgId; readonly partition: number } | undefined,
): Promise<Positions> {
  switch (start.kind) {
    case 'next':
      return ends;
    case 'time':
      return log.endsBefore(topic, start.timeMs);
    case 'seq': {
      // Kafka finds records by time, and the store knows when a seq was appended. The log may have events that the feed
      // no longer has: then it is read from its beginning.
      const appendedAtMs =
        place === undefined
          ? undefined
          : await context.withStore(async (store) => {
              await openFeed(store, environment);
              return new AppendTimes(store).upTo(place.orgId, place.partition, start.seq);
            });
      if (appendedAtMs !== undefined) return log.endsBefore(topic, appendedAtMs);
      return new Map([...ends].map(([partition]) => [partition, 0]));
    }
  }
}

function readOrg(text: string): OrgId {
  const orgId = parseOrgId(text);
  if (orgId === undefined) throw new InvalidArgumentError('expected a UUID');
  return orgId;
}

function readEvent(text: string): string {
  if (isFeedFilter(text)) return text;
  throw new InvalidArgumentError(`there are no events of this type; there are ${EVENT_TYPES.join(', ')}`);
}

function readFrom(text: string, nowMs: number): TailStart {
  const start = parseTailStart(text, nowMs);
  if (start !== undefined) return start;
  throw new InvalidArgumentError('expected a seq (4128), a time (2026-03-01T12:00:00Z) or how long ago (15m)');
}
