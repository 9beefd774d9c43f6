import { parseEventId, parseOrgId, seqFromText, type EventId, type OrgId, type OrgSequence } from '#libs/domain';
import { recordBytes, type NewRecord, type StoredRecord } from '#libs/kafka-log';

/** How far the snapshots reach: everything before these offsets is in them. */
export interface Covered {
  readonly logOffset: number;
  readonly inboxOffset: number;
}

/** The key of the record that tells what the snapshots before it cover. */
const CHECKPOINT_KEY = 'checkpoint';

/** Well under what a broker takes in one batch. */
const CHUNK_BYTES = 2 * 1024 * 1024;

type CheckpointRecord = Omit<NewRecord, 'topic' | 'partition'>;

function checkpointRecord(covered: Covered): CheckpointRecord {
  const value = { log_offset: covered.logOffset, inbox_offset: covered.inboxOffset };
  return { key: CHECKPOINT_KEY, value: Buffer.from(JSON.stringify(value)) };
}

function snapshotRecord(orgId: OrgId, sequence: OrgSequence): CheckpointRecord {
  const value = { last_seq: String(sequence.lastSeq), recent_ids: sequence.recentIds };
  return { key: orgId, value: Buffer.from(JSON.stringify(value)) };
}

/**
 * The batches that make up a checkpoint. Each is appended as a whole and ends with what is covered once it stands
 * there, which is what was before until the last batch: whoever reads any prefix of them reads enough of the log.
 */
export function checkpointBatches(
  changed: ReadonlyMap<OrgId, OrgSequence>,
  covered: { readonly before: Covered; readonly now: Covered },
): readonly (readonly CheckpointRecord[])[] {
  const batches: CheckpointRecord[][] = [];
  let batch: CheckpointRecord[] = [];
  let bytes = 0;
  for (const [orgId, sequence] of changed) {
    const record = snapshotRecord(orgId, sequence);
    const weight = recordBytes({ ...record, topic: '' });
    if (batch.length > 0 && bytes + weight > CHUNK_BYTES) {
      batches.push([...batch, checkpointRecord(covered.before)]);
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += weight;
  }
  batches.push([...batch, checkpointRecord(covered.now)]);
  return batches;
}

/** What a record of the sequences topic says. */
export type Checkpoint =
  | { readonly kind: 'snapshot'; readonly orgId: OrgId; readonly sequence: OrgSequence }
  | { readonly kind: 'covered'; readonly covered: Covered };

/** @throws when the record is not one that a sequencer wrote */
export function readCheckpoint(record: StoredRecord): Checkpoint {
  const key = record.key?.toString();
  const value: unknown = JSON.parse(record.value?.toString() ?? 'null');
  if (key === CHECKPOINT_KEY) {
    const { log_offset, inbox_offset } = value as { log_offset: number; inbox_offset: number };
    return { kind: 'covered', covered: { logOffset: log_offset, inboxOffset: inbox_offset } };
  }
  const orgId = parseOrgId(key);
  if (orgId === undefined) {
    throw new Error(`${record.topic}/${record.partition}/${record.offset} is not a record of a sequencer`);
  }
  const { last_seq, recent_ids } = value as { last_seq: string; recent_ids: string[] };
  const recentIds = recent_ids.map(parseEventId).filter((id): id is EventId => id !== undefined);
  return { kind: 'snapshot', orgId, sequence: { lastSeq: seqFromText(last_seq), recentIds } };
}
