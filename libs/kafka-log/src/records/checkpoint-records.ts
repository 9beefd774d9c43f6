import { parseOrgId, seqFromText, type IdStretch, type OrgId, type Seq } from '#libs/domain';
import { recordBytes, type NewRecord, type StoredRecord } from './record.js';

/** How far the snapshots reach: everything before these offsets is in them. */
export interface Covered {
  readonly logOffset: number;
  readonly inboxOffset: number;
}

/** The content of a checkpoint record. */
export interface CheckpointPlace extends Covered {
  /** The time of the newest log record that is covered. `null`: it was written without ids, by an earlier version or a repair. */
  readonly clockMs: number | null;
  /** Written by a repair: what the log has before it may come from an inbox that is gone. */
  readonly isReset?: boolean;
}

/** The changes that a checkpoint adds to the earlier ones. */
export interface CheckpointChanges {
  readonly lastSeqs: ReadonlyMap<OrgId, Seq>;
  readonly ids: readonly IdStretch[];
  /** The keys of ids that are not needed any more. */
  readonly overIds: readonly string[];
}

/** The key of the record that says how far the snapshots before it reach. */
const CHECKPOINT_KEY = 'checkpoint';
const IDS_KEY = /^ids\/(\d{1,16})\/(\d{1,16})-(\d{1,16})\/\d{1,6}$/;

/** Well under what a broker takes in one batch. */
const CHUNK_BYTES = 2 * 1024 * 1024;
/** A record of ids is far smaller than a batch. */
const IDS_RECORD_BYTES = 512 * 1024;

type CheckpointRecord = Omit<NewRecord, 'topic' | 'partition'>;

/**
 * A record that says what the records before it cover.
 * @param isReset it counts though it covers less than an earlier one: the log has gone back, and was repaired
 */
export function checkpointRecord(place: CheckpointPlace, isReset = false): CheckpointRecord {
  const value = {
    log_offset: place.logOffset,
    inbox_offset: place.inboxOffset,
    ...(place.clockMs === null ? {} : { inbox_time: place.clockMs }),
    ...(isReset ? { reset: true } : {}),
  };
  return { key: CHECKPOINT_KEY, value: Buffer.from(JSON.stringify(value)) };
}

/**
 * A record that holds the last seq of an org.
 * @param isReset it counts though an earlier one is higher: the log has gone back, and was repaired
 */
export function snapshotRecord(orgId: OrgId, lastSeq: Seq, isReset = false): CheckpointRecord {
  return { key: orgId, value: Buffer.from(`{"last_seq":"${lastSeq}"${isReset ? ',"reset":true' : ''}}`) };
}

/** The same stretch of the log has the same keys, so a sequencer that was frozen cannot overwrite others' ids. */
function idsRecords({ beginMs, from, to, fingerprints }: IdStretch): readonly (CheckpointRecord & { key: string })[] {
  const records: (CheckpointRecord & { key: string })[] = [];
  for (let at = 0; at < fingerprints.length; at += IDS_RECORD_BYTES) {
    const key = `ids/${beginMs}/${from}-${to}/${records.length}`;
    records.push({ key, value: fingerprints.subarray(at, at + IDS_RECORD_BYTES) });
  }
  return records;
}

/** A checkpoint to be written, and the keys of its ids with the times at which their segments begin. */
export interface CheckpointWrite {
  readonly batches: readonly (readonly CheckpointRecord[])[];
  readonly idsKeys: ReadonlyMap<string, number>;
}

/**
 * The batches that make up a checkpoint. Each is appended as a whole and ends with what is covered once it is there, which
 * is what was before until the last batch: any prefix of them says to read enough of the log.
 */
export function checkpointBatches(
  changes: CheckpointChanges,
  place: { readonly before: CheckpointPlace; readonly now: CheckpointPlace },
): CheckpointWrite {
  const idsKeys = new Map<string, number>();
  const records: CheckpointRecord[] = [];
  for (const stretch of changes.ids) {
    for (const record of idsRecords(stretch)) {
      idsKeys.set(record.key, stretch.beginMs);
      records.push(record);
    }
  }
  for (const [orgId, lastSeq] of changes.lastSeqs) records.push(snapshotRecord(orgId, lastSeq));
  for (const key of changes.overIds) records.push({ key, value: null });
  const batches: CheckpointRecord[][] = [];
  let batch: CheckpointRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const weight = recordBytes(record);
    if (batch.length > 0 && bytes + weight > CHUNK_BYTES) {
      batches.push([...batch, checkpointRecord(place.before)]);
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += weight;
  }
  batches.push([...batch, checkpointRecord(place.now)]);
  return { batches, idsKeys };
}

/** Reads a record of the sequences topic. */
export type Checkpoint =
  | { readonly kind: 'snapshot'; readonly orgId: OrgId; readonly lastSeq: Seq; readonly isReset: boolean }
  | { readonly kind: 'ids'; readonly key: string; readonly stretch: IdStretch }
  | { readonly kind: 'ids over'; readonly key: string }
  | { readonly kind: 'covered'; readonly place: CheckpointPlace; readonly isReset: boolean };

/** @throws when the record is not one that a sequencer wrote */
export function readCheckpoint(record: StoredRecord): Checkpoint {
  const key = record.key?.toString() ?? '';
  const ids = IDS_KEY.exec(key);
  if (ids !== null) {
    if (record.value === null) return { kind: 'ids over', key };
    const [beginMs, from, to] = [Number(ids[1]), Number(ids[2]), Number(ids[3])];
    return { kind: 'ids', key, stretch: { beginMs, from, to, fingerprints: record.value } };
  }
  const value: unknown = JSON.parse(record.value?.toString() ?? 'null');
  if (key === CHECKPOINT_KEY) {
    const { log_offset, inbox_offset, inbox_time, reset } = value as {
      log_offset: number;
      inbox_offset: number;
      inbox_time?: number;
      reset?: boolean;
    };
    const place = { logOffset: log_offset, inboxOffset: inbox_offset, clockMs: inbox_time ?? null };
    return { kind: 'covered', place, isReset: reset === true };
  }
  const orgId = parseOrgId(key);
  if (orgId === undefined) {
    throw new Error(`${record.topic}/${record.partition}/${record.offset} is not a record of a sequencer`);
  }
  // Earlier versions kept the latest ids beside it.
  const { last_seq, reset } = value as { last_seq: string; reset?: boolean };
  return { kind: 'snapshot', orgId, lastSeq: seqFromText(last_seq), isReset: reset === true };
}
