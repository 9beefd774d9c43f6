import { describe, expect, it } from '@jest/globals';
import { parseOrgId, type IdStretch, type OrgId, type Seq } from '#libs/domain';
import { recordBytes, UnreadableRecordError, type StoredRecord } from './record.js';
import {
  checkpointBatches,
  readCheckpoint,
  type CheckpointChanges,
  type CheckpointWrite,
} from './checkpoint-records.js';

const BEFORE = { logOffset: 10, inboxOffset: 20, clockMs: 1_750_000_000_000 };
const NOW = { logOffset: 15, inboxOffset: 30, clockMs: 1_750_000_060_000 };
/** What a broker takes in one batch at least. */
const BROKER_BATCH_BYTES = 8 * 1024 * 1024;

function anOrg(n: number): OrgId {
  return parseOrgId(`${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`)!;
}

function changes(orgs: number, ids: readonly IdStretch[] = [], overIds: readonly string[] = []): CheckpointChanges {
  const lastSeqs = new Map(Array.from({ length: orgs }, (_, n) => [anOrg(n + 1), (n + 1) as Seq] as const));
  return { lastSeqs, ids, overIds };
}

function aStretch(from: number, count: number): IdStretch {
  return { beginMs: 1_749_999_840_000, from, to: from + count, fingerprints: Buffer.alloc(16 * count, from + 1) };
}

function aRecord(key: string | Buffer | null, value: Buffer | null): StoredRecord {
  const bytes = typeof key === 'string' ? Buffer.from(key) : key;
  return { topic: 'sequences', partition: 0, offset: 0, key: bytes, value, headers: {}, timestampMs: 0 };
}

function read({ batches }: CheckpointWrite) {
  return batches.map((batch) => batch.map(({ key, value }) => readCheckpoint(aRecord(key, value))));
}

describe('a checkpoint', () => {
  it('is read as it was written: the ids, the orgs that changed, what is over, then what is covered', () => {
    const stretch = aStretch(10, 3);
    const write = checkpointBatches(changes(2, [stretch], ['ids/1749000000000/1-5/0']), { before: BEFORE, now: NOW });
    const key = 'ids/1749999840000/10-13/0';
    expect(read(write)).toEqual([
      [
        { kind: 'ids', key, stretch },
        { kind: 'snapshot', orgId: anOrg(1), lastSeq: 1, isReset: false },
        { kind: 'snapshot', orgId: anOrg(2), lastSeq: 2, isReset: false },
        { kind: 'ids over', key: 'ids/1749000000000/1-5/0' },
        { kind: 'covered', isReset: false, place: NOW },
      ],
    ]);
    expect(write.idsKeys).toEqual(new Map([[key, stretch.beginMs]]));
  });

  it('says what is covered even when nothing has changed', () => {
    expect(read(checkpointBatches(changes(0), { before: BEFORE, now: NOW }))).toEqual([
      [{ kind: 'covered', isReset: false, place: NOW }],
    ]);
  });

  it('covers no more than before until its last batch: any prefix of it reads enough of the log', () => {
    const batches = read(checkpointBatches(changes(100_000, [aStretch(10, 5)]), { before: BEFORE, now: NOW }));
    expect(batches.length).toBeGreaterThan(2);
    for (const [index, batch] of batches.entries()) {
      const covered = batch.filter((record) => record.kind === 'covered');
      expect(covered).toEqual([
        { kind: 'covered', isReset: false, place: index === batches.length - 1 ? NOW : BEFORE },
      ]);
      expect(batch.at(-1)).toBe(covered[0]);
    }
    const snapshots = batches.flat().filter((record) => record.kind === 'snapshot');
    expect(new Map(snapshots.map(({ orgId, lastSeq }) => [orgId, lastSeq]))).toEqual(changes(100_000).lastSeqs);
  });

  it('has batches that a broker takes', () => {
    const write = checkpointBatches(changes(50_000, [aStretch(0, 1_000_000)]), { before: BEFORE, now: NOW });
    for (const batch of write.batches) {
      const bytes = batch.reduce((sum, record) => sum + recordBytes(record), 0);
      expect(bytes).toBeLessThan(BROKER_BATCH_BYTES / 2);
    }
    const ids = read(write)
      .flat()
      .filter((record) => record.kind === 'ids');
    expect(ids.reduce((sum, { stretch }) => sum + stretch.fingerprints.length, 0)).toBe(16_000_000);
    expect(new Set(ids.map(({ key }) => key)).size).toBe(ids.length);
  });

  it('takes 16 bytes an id, and less than 200 an org', () => {
    const bytesOf = (of: CheckpointChanges) =>
      checkpointBatches(of, { before: BEFORE, now: NOW })
        .batches.flat()
        .reduce((sum, { key, value }) => sum + (key?.length ?? 0) + (value?.length ?? 0), 0);
    const nothing = bytesOf(changes(0));
    expect((bytesOf(changes(1_000)) - nothing) / 1_000).toBeLessThan(200);
    expect((bytesOf(changes(0, [aStretch(0, 1_000)])) - nothing) / 1_000).toBeLessThan(17);
  });

  it('of an earlier version is read, with the ids left out', () => {
    const orgId = anOrg(1);
    const snapshot = aRecord(orgId, Buffer.from('{"last_seq":"7","recent_ids":["evt_0123456789ABCDEF"]}'));
    expect(readCheckpoint(snapshot)).toEqual({ kind: 'snapshot', orgId, lastSeq: 7, isReset: false });
    const covered = aRecord('checkpoint', Buffer.from('{"log_offset":5,"inbox_offset":9}'));
    expect(readCheckpoint(covered)).toEqual({
      kind: 'covered',
      isReset: false,
      place: { logOffset: 5, inboxOffset: 9, clockMs: null },
    });
  });

  it.each([
    ['a key of others', 'note', Buffer.from('garbage')],
    ['a key of others and zeros', 'x', Buffer.alloc(3)],
    ['a key of others and no value', 'note', null],
    ['no key', null, Buffer.from('{"last_seq":"1"}')],
    ['bytes that are no text as its key', Buffer.from([0xff]), Buffer.from('{}')],
  ])('is foreign with %s', (_case, key, value) => {
    expect(readCheckpoint(aRecord(key, value))).toEqual({ kind: 'foreign' });
  });

  it.each([
    ['of an org is no JSON', anOrg(1), Buffer.from('{')],
    ['of an org is missing', anOrg(1), null],
    ['of an org has no seq', anOrg(1), Buffer.from('{}')],
    ['of ids is no list of them', 'ids/1749999840000/10-13/0', Buffer.alloc(17)],
    ['of ids is empty', 'ids/1749999840000/10-13/0', Buffer.alloc(0)],
    ['of the covered offsets is no JSON', 'checkpoint', Buffer.from('garbage')],
    ['of the covered offsets is missing', 'checkpoint', null],
    ['of the covered offsets has none', 'checkpoint', Buffer.from('{"log_offset":5}')],
  ])('is refused with its place if the value %s', (_case, key, value) => {
    const act = () => readCheckpoint(aRecord(key, value));
    expect(act).toThrow(UnreadableRecordError);
    expect(act).toThrow('sequences/0/0 has a key of the sequencer, but cannot be read.');
  });
});
