import { OrgSequences, SEQ_NONE, type OrgId, type OrgSequence } from '#libs/domain';
import { readLogRecord, readPartitions, type KafkaConnection, type TopicNames } from '#libs/kafka-log';
import { readCheckpoint, type Covered } from './checkpoint-records.js';
import type { PartitionState } from './partition-state.js';

interface Draft {
  readonly snapshots: Map<OrgId, OrgSequence>;
  readonly sequences: OrgSequences;
  checkpointed: Covered;
  inboxOffset: number;
  records: number;
  bytes: number;
}

/**
 * Brings back what is known of partitions: the snapshots, then the log's tail behind them. Whatever crash, freeze or
 * takeover came before, the next seq of each org follows from what stands in the log.
 */
export async function restorePartitions(
  connection: KafkaConnection,
  topics: TopicNames,
  partitions: readonly number[],
  generation: number,
): Promise<ReadonlyMap<number, PartitionState>> {
  const drafts = new Map<number, Draft>(
    partitions.map((partition) => [
      partition,
      {
        snapshots: new Map(),
        sequences: new OrgSequences(),
        checkpointed: { logOffset: 0, inboxOffset: 0 },
        inboxOffset: 0,
        records: 0,
        bytes: 0,
      },
    ]),
  );
  const draftOf = (partition: number): Draft => {
    const draft = drafts.get(partition);
    if (draft === undefined) throw new Error(`partition ${partition} was not asked for`);
    return draft;
  };

  const sequencesEnds = await readPartitions(
    connection,
    partitions.map((partition) => ({ topic: topics.sequences, partition, from: 0 })),
    (record) => {
      const draft = draftOf(record.partition);
      const checkpoint = readCheckpoint(record);
      if (checkpoint.kind === 'covered') {
        draft.checkpointed = checkpoint.covered;
      } else {
        // A sequencer that froze may have written an older snapshot behind a newer one.
        const known = draft.snapshots.get(checkpoint.orgId)?.lastSeq ?? SEQ_NONE;
        if (checkpoint.sequence.lastSeq > known) draft.snapshots.set(checkpoint.orgId, checkpoint.sequence);
      }
    },
  );
  for (const draft of drafts.values()) {
    for (const [orgId, snapshot] of draft.snapshots) draft.sequences.restore(orgId, snapshot);
    draft.snapshots.clear();
    draft.inboxOffset = draft.checkpointed.inboxOffset;
  }

  const logEnds = await readPartitions(
    connection,
    [...drafts].map(([partition, draft]) => ({ topic: topics.log, partition, from: draft.checkpointed.logOffset })),
    (record) => {
      const draft = draftOf(record.partition);
      const event = readLogRecord(record);
      draft.sequences.replay(event.orgId, event.seq, event.id);
      draft.inboxOffset = Math.max(draft.inboxOffset, event.inboxOffset + 1);
      draft.records++;
      draft.bytes += event.envelope.length;
    },
  );

  return new Map(
    [...drafts].map(([partition, draft]) => [
      partition,
      {
        generation,
        sequences: draft.sequences,
        appended: {
          logOffset: logEnds.get(`${topics.log}/${partition}`) ?? draft.checkpointed.logOffset,
          inboxOffset: draft.inboxOffset,
        },
        checkpointed: draft.checkpointed,
        sequencesNext: sequencesEnds.get(`${topics.sequences}/${partition}`) ?? 0,
        uncheckpointed: { records: draft.records, bytes: draft.bytes },
      },
    ]),
  );
}
