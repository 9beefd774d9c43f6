import { ID_WINDOW_MS, OrgSequences, PartitionFold, PartitionStoppedError, type IdStretch } from '#libs/domain';
import {
  hasLeader,
  isForeign,
  LogPositions,
  noLeaderError,
  readCheckpoint,
  readLogRecord,
  readPartitions,
  type CheckpointPlace,
  type KafkaConnection,
  type TopicNames,
} from '#libs/kafka-log';
import type { PartitionState } from './partition-state.js';
import { ReadBack } from './read-back.js';

/** Log records are written a little later than the inbox records that they come from. */
const MARGIN_MS = 60_000;

/** The content of the sequences topic for a partition. */
interface Found {
  readonly sequences: OrgSequences;
  readonly stretches: Map<string, IdStretch>;
  checkpointed: CheckpointPlace;
}

interface Draft {
  readonly fold: PartitionFold;
  readonly stretches: Map<string, IdStretch>;
  checkpointed: CheckpointPlace;
  sequencesNext: number;
  inboxOffset: number;
  records: number;
  bytes: number;
}

export interface Restored {
  readonly states: ReadonlyMap<number, PartitionState>;
  /** The partitions that log and checkpoint are not enough to restore. */
  readonly stopped: ReadonlyMap<number, PartitionStoppedError>;
}

/**
 * Restores the state of partitions from the checkpoint and the log after it. After any crash, freeze or takeover, the
 * next seq of each org follows the last one in the log.
 * @param use.nowMs decides only how much is read where a checkpoint has no ids
 */
export async function restorePartitions(
  use: { readonly connection: KafkaConnection; readonly topics: TopicNames; readonly nowMs: number },
  partitions: readonly number[],
  generation: number,
): Promise<Restored> {
  const { connection, topics } = use;
  const { interruptions } = connection;
  const ends = await new LogPositions(connection).ends(topics.log);
  // Checkpoints are long. Without this, each retry would read them, only to find that the log cannot be read.
  for (const partition of partitions) if (!hasLeader(ends, partition)) throw noLeaderError(topics.log, partition);
  const drafts = await readCheckpoints(connection, topics, partitions);
  const stopped = await takeOutStopped(connection, topics, drafts);
  const starts = await tailStarts(use, drafts);
  const logEnds = await readPartitions(
    connection,
    [...drafts.keys()].map((partition) => ({ topic: topics.log, partition, from: starts.get(partition) ?? 0 })),
    (record) => {
      if (isForeign(record)) return;
      const draft = draftOf(drafts, record.partition);
      const event = readLogRecord(record);
      draft.fold.replay({ ...event, timeMs: event.inboxTimeMs }, record.offset);
      // Records that the checkpoint covers are read for their ids alone.
      if (record.offset >= draft.checkpointed.logOffset) {
        draft.inboxOffset = Math.max(draft.inboxOffset, event.inboxOffset + 1);
      }
      draft.records++;
      draft.bytes += event.envelope.length;
    },
  );
  const states = new Map<number, PartitionState>();
  for (const [partition, draft] of drafts) {
    states.set(partition, {
      generation,
      joinedIn: null,
      interruptions,
      fold: draft.fold,
      appended: {
        logOffset: logEnds.get(`${topics.log}/${partition}`) ?? draft.checkpointed.logOffset,
        inboxOffset: draft.inboxOffset,
      },
      handledTo: draft.inboxOffset,
      checkpointed: draft.checkpointed,
      sequencesNext: draft.sequencesNext,
      unwritten: null,
      uncheckpointed: { records: draft.records, bytes: draft.bytes },
      idsKeys: new Map([...draft.stretches].map(([key, { beginMs }]) => [key, beginMs])),
      readBack: new ReadBack(connection, topics, partition),
    });
  }
  return { states, stopped };
}

function draftOf(drafts: ReadonlyMap<number, Draft>, partition: number): Draft {
  const draft = drafts.get(partition);
  if (draft === undefined) throw new Error(`partition ${partition} was not asked for`);
  return draft;
}

async function readCheckpoints(
  connection: KafkaConnection,
  topics: TopicNames,
  partitions: readonly number[],
): Promise<Map<number, Draft>> {
  const found = new Map<number, Found>(
    partitions.map((partition) => [
      partition,
      {
        stretches: new Map(),
        checkpointed: { logOffset: 0, inboxOffset: 0, clockMs: null },
        sequences: new OrgSequences(),
      },
    ]),
  );
  const ends = await readPartitions(
    connection,
    partitions.map((partition) => ({ topic: topics.sequences, partition, from: 0 })),
    (record) => {
      const of = found.get(record.partition);
      if (of === undefined) return;
      const checkpoint = readCheckpoint(record);
      switch (checkpoint.kind) {
        case 'covered':
          // A sequencer that was frozen may have written an older checkpoint after a newer one.
          if (checkpoint.isReset || checkpoint.place.logOffset >= of.checkpointed.logOffset) {
            of.checkpointed = { ...checkpoint.place, isReset: checkpoint.isReset };
          }
          break;
        case 'snapshot':
          if (checkpoint.isReset) of.sequences.reset(checkpoint.orgId, checkpoint.lastSeq);
          else of.sequences.restore(checkpoint.orgId, checkpoint.lastSeq);
          break;
        case 'ids':
          of.stretches.set(checkpoint.key, checkpoint.stretch);
          break;
        case 'ids over':
          of.stretches.delete(checkpoint.key);
          break;
        case 'foreign':
      }
    },
  );
  return new Map(
    [...found].map(([partition, { stretches, checkpointed, sequences }]) => {
      const fold = new PartitionFold(checkpointed.clockMs ?? 0, sequences);
      for (const stretch of stretches.values()) fold.ids.restore(stretch);
      return [
        partition,
        {
          fold,
          stretches,
          checkpointed,
          sequencesNext: ends.get(`${topics.sequences}/${partition}`) ?? 0,
          inboxOffset: checkpointed.inboxOffset,
          records: 0,
          bytes: 0,
        },
      ];
    }),
  );
}

/** Removes the partitions whose next seqs are unknown: retention removed log records that no checkpoint covers. */
async function takeOutStopped(
  connection: KafkaConnection,
  topics: TopicNames,
  drafts: Map<number, Draft>,
): Promise<ReadonlyMap<number, PartitionStoppedError>> {
  const bounds = await new LogPositions(connection).bounds(topics.log);
  const stopped = new Map<number, PartitionStoppedError>();
  for (const [partition, { checkpointed }] of drafts) {
    const begin = bounds.get(partition)?.begin ?? 0;
    if (begin <= checkpointed.logOffset) continue;
    const stop = {
      code: 'sequences_behind_log',
      topic: topics.sequences,
      partition,
      expectedOffset: begin,
      foundOffset: checkpointed.logOffset,
      reason:
        `${topics.log}/${partition} begins at offset ${begin}, and the checkpoint in ${topics.sequences} covers it up to ` +
        `${checkpointed.logOffset} only: the last seqs of orgs between them are lost.`,
      command: 'npm run -s gapless -- repair',
    } as const;
    stopped.set(partition, new PartitionStoppedError(stop));
    drafts.delete(partition);
  }
  return stopped;
}

/** Returns where to begin in the log: at the end of the checkpoint, or one window earlier if it has no ids. */
async function tailStarts(
  use: { readonly connection: KafkaConnection; readonly topics: TopicNames; readonly nowMs: number },
  drafts: ReadonlyMap<number, Draft>,
): Promise<ReadonlyMap<number, number>> {
  const starts = new Map([...drafts].map(([partition, { checkpointed }]) => [partition, checkpointed.logOffset]));
  const withoutIds = [...drafts].filter(
    ([, { checkpointed }]) => checkpointed.clockMs === null && checkpointed.logOffset > 0,
  );
  if (withoutIds.length > 0) {
    const positions = new LogPositions(use.connection);
    const windowStarts = await positions.endsBefore(use.topics.log, use.nowMs - ID_WINDOW_MS - MARGIN_MS);
    for (const [partition, { checkpointed }] of withoutIds) {
      starts.set(partition, Math.min(checkpointed.logOffset, windowStarts.get(partition) ?? checkpointed.logOffset));
    }
  }
  return starts;
}
