import { FINGERPRINT_BYTES, parseOrgId, seqFromText, type IdStretch, type OrgId, type Seq } from '#libs/domain';
import { recordBytes, UnreadableRecordError, type NewRecord, type StoredRecord } from './record.js';

/** The offsets up to which the snapshots hold everything. */
export interface Covered {
  readonly logOffset: number;
  readonly inboxOffset: number;
}

/** The content of a checkpoint record. */
export interface CheckpointPlace extends Covered {
  /**
   * The time of the newest covered log record, epoch milliseconds. `null` if the checkpoint has no ids: an earlier
   * version or a repair wrote it.
   */
  readonly clockMs: number | null;
  /** Set by a repair: the log before it may come from an inbox that no longer exists. */
  readonly isReset?: boolean;
}

/** The changes of a checkpoint since the previous one. */
export interface CheckpointChanges {
  readonly lastSeqs: ReadonlyMap<OrgId, Seq>;
  readonly ids: readonly IdStretch[];
  /** The keys of ids that are no longer needed. */
  readonly overIds: readonly string[];
}

/** The key of the record that says how far the previous snapshots reach. */
const CHECKPOINT_KEY = 'checkpoint';
const IDS_KEY = /^ids\/(\d{1,16})\/(\d{1,16})-(\d{1,16})\/\d{1,6}$/;

/** Bytes; well below a broker's limit for one batch. */
const CHUNK_BYTES = 2 * 1024 * 1024;
/** The size of a record of ids, bytes; far smaller than a batch. */
const IDS_RECORD_BYTES = 512 * 1024;

type CheckpointRecord = Omit<NewRecord, 'topic' | 'partition'>;

/**
 * Makes the record that says what the records before it cover.
 * @param isReset the record counts even if it covers less than an earlier one, because a repair followed a loss of the
 *   log
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
 * Makes the record of an org's last seq.
 * @param isReset the record counts even if an earlier one is higher, because a repair followed a loss of the log
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

/** A checkpoint to write, and the keys of its ids with the start times of their segments. */
export interface CheckpointWrite {
  readonly batches: readonly (readonly CheckpointRecord[])[];
  readonly idsKeys: ReadonlyMap<string, number>;
}

/**
 * Returns the batches of a checkpoint. Each is appended as a whole and ends with the covered offsets. Until the last
 * batch these are the previous ones, so that after an interruption enough of the log is read.
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

/** A record of the sequences topic. */
export type Checkpoint =
  | { readonly kind: 'snapshot'; readonly orgId: OrgId; readonly lastSeq: Seq; readonly isReset: boolean }
  | { readonly kind: 'ids'; readonly key: string; readonly stretch: IdStretch }
  | { readonly kind: 'ids over'; readonly key: string }
  | { readonly kind: 'covered'; readonly place: CheckpointPlace; readonly isReset: boolean }
  /** No sequencer writes such a key. Readers skip the record. */
  | { readonly kind: 'foreign' };

/**
 * Reads a record of the sequences topic. Its key decides what it is.
 * @throws UnreadableRecordError when the record has a key of the sequencer and a value that cannot be read
 */
export function readCheckpoint(record: StoredRecord): Checkpoint {
  const key = record.key?.toString() ?? '';
  const ids = IDS_KEY.exec(key);
  if (ids !== null) {
    if (record.value === null) return { kind: 'ids over', key };
    if (record.value.length === 0 || record.value.length % FINGERPRINT_BYTES !== 0) {
      throw new UnreadableRecordError(record, 'a key of the sequencer');
    }
    const [beginMs, from, to] = [Number(ids[1]), Number(ids[2]), Number(ids[3])];
    return { kind: 'ids', key, stretch: { beginMs, from, to, fingerprints: record.value } };
  }
  const orgId = parseOrgId(key);
  if (key !== CHECKPOINT_KEY && orgId === undefined) return { kind: 'foreign' };
  try {
    const value: unknown = JSON.parse(record.value?.toString() ?? 'null');
    return orgId === undefined ? readCovered(value) : readSnapshot(orgId, value);
  } catch (cause) {
    throw new UnreadableRecordError(record, 'a key of the sequencer', { cause });
  }
}

/** @throws when the value is not that of a checkpoint */
function readCovered(value: unknown): Checkpoint {
  const { log_offset, inbox_offset, inbox_time, reset } = value as {
    log_offset: number;
    inbox_offset: number;
    inbox_time?: number;
    reset?: boolean;
  };
  if (![log_offset, inbox_offset, inbox_time ?? 0].every(Number.isSafeInteger)) throw new TypeError('not offsets');
  const place = { logOffset: log_offset, inboxOffset: inbox_offset, clockMs: inbox_time ?? null };
  return { kind: 'covered', place, isReset: reset === true };
}

/** @throws when the value is not that of a snapshot */
function readSnapshot(orgId: OrgId, value: unknown): Checkpoint {
  // Earlier versions stored the latest ids here as well.
  const { last_seq, reset } = value as { last_seq: string; reset?: boolean };
  return { kind: 'snapshot', orgId, lastSeq: seqFromText(last_seq), isReset: reset === true };
}
