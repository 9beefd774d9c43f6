import { FingerprintTable, idFingerprint, SEQ_NONE, type OrgId, type Seq } from '#libs/domain';
import { FeedRepair, type Conflict } from '#libs/postgres';
import { LogPositions, readCheckpoint, readLogRecords, readPartitions, streamPartitions } from '#libs/kafka-log';
import type { Installation } from '../installation.js';
import type { Progress } from '../verify/progress.js';

/** The content of a log partition and of its checkpoint. */
export interface LogContents {
  readonly partition: number;
  /** The offset of the first record that still exists. */
  readonly begin: number;
  /** The offset after the last record. */
  readonly end: number;
  readonly lastSeqs: Map<OrgId, Seq>;
  /** The last seqs in the checkpoints. */
  readonly checkpointedSeqs: Map<OrgId, Seq>;
  /** The id of every event: a partition may have more of them than a set of texts can hold. */
  readonly ids: FingerprintTable;
  /** Seqs at which the feed has other events. */
  readonly conflicts: Conflict[];
  /** Keys of the ids in the checkpoints. */
  readonly idsKeys: Set<string>;
  /** Where a sequencer would resume in the inbox. */
  inboxOffset: number;
  /** The log offset up to which the checkpoint covers the log. */
  checkpointedLogOffset: number;
}

/** Reads every partition of the log and of the checkpoints. */
export async function readLogContents(
  { connection, topics, store }: Installation,
  progress: Progress,
): Promise<readonly LogContents[]> {
  const all = await new LogPositions(connection).bounds(topics.log);
  const ends = [...all].filter(([partition]) => connection.isOwnPartition(partition));
  const contents = new Map<number, LogContents>(
    ends.map(([partition, { begin, end }]) => [
      partition,
      {
        partition,
        begin,
        end,
        lastSeqs: new Map(),
        checkpointedSeqs: new Map(),
        ids: new FingerprintTable(),
        conflicts: [],
        idsKeys: new Set(),
        inboxOffset: 0,
        checkpointedLogOffset: 0,
      },
    ]),
  );
  const resets = new Map<number, number>();
  const each = (topic: string) => ends.map(([partition]) => ({ topic, partition, from: 0 }));
  await readPartitions(connection, each(topics.sequences), (record) => {
    const of = contents.get(record.partition);
    const checkpoint = readCheckpoint(record);
    if (of === undefined) return;
    if (checkpoint.kind === 'snapshot') {
      const { orgId, lastSeq, isReset } = checkpoint;
      if (isReset || lastSeq > (of.checkpointedSeqs.get(orgId) ?? SEQ_NONE)) of.checkpointedSeqs.set(orgId, lastSeq);
    }
    if (checkpoint.kind === 'ids') of.idsKeys.add(checkpoint.key);
    if (checkpoint.kind === 'ids over') of.idsKeys.delete(checkpoint.key);
    if (checkpoint.kind !== 'covered') return;
    if (!checkpoint.isReset && checkpoint.place.logOffset < of.checkpointedLogOffset) return;
    of.checkpointedLogOffset = checkpoint.place.logOffset;
    of.inboxOffset = checkpoint.place.inboxOffset;
    if (checkpoint.isReset) resets.set(record.partition, checkpoint.place.logOffset);
  });
  const feed = new FeedRepair(store);
  progress.begin(
    'log and feed',
    ends.reduce((sum, [, { begin, end }]) => sum + end - begin, 0),
  );
  try {
    await streamPartitions(connection, each(topics.log), async ({ partition, records }) => {
      const of = contents.get(partition);
      if (of === undefined) return;
      const events = readLogRecords(records);
      for (const { orgId, seq, id, inboxOffset, offset } of events) {
        of.ids.add(idFingerprint(orgId, id));
        if (seq > (of.lastSeqs.get(orgId) ?? SEQ_NONE)) of.lastSeqs.set(orgId, seq);
        // Records before a reset come from an inbox that no longer exists.
        if (offset >= (resets.get(partition) ?? 0)) of.inboxOffset = Math.max(of.inboxOffset, inboxOffset + 1);
      }
      of.conflicts.push(...(await feed.conflicts(partition, events)));
      progress.advance(records.length);
    });
  } finally {
    progress.end();
  }
  return [...contents.values()];
}
