import { describe, expect, it } from '@jest/globals';
import { parseOrgId, type EventId, type OrgId, type OrgSequence, type Seq } from '#libs/domain';
import { recordBytes, type StoredRecord } from '#libs/kafka-log';
import { checkpointBatches, readCheckpoint } from './checkpoint-records.js';

const BEFORE = { logOffset: 10, inboxOffset: 20 };
const NOW = { logOffset: 15, inboxOffset: 30 };
/** What a broker takes in one batch at least. */
const BROKER_BATCH_BYTES = 8 * 1024 * 1024;

function anOrg(n: number): OrgId {
  return parseOrgId(`${String(n).padStart(8, '0')}-0000-4000-8000-000000000000`)!;
}

function aSequence(lastSeq: number, ids = 2): OrgSequence {
  const recentIds = Array.from({ length: ids }, (_, n) => `evt_${String(lastSeq + n).padStart(64, '0')}` as EventId);
  return { lastSeq: lastSeq as Seq, recentIds };
}

type Batches = ReturnType<typeof checkpointBatches>;

function read(batches: Batches) {
  return batches.map((batch) =>
    batch.map(({ key, value }) =>
      readCheckpoint({
        topic: 'sequences',
        partition: 0,
        offset: 0,
        key: Buffer.from(key ?? ''),
        value,
        headers: {},
        timestampMs: 0,
      }),
    ),
  );
}

describe('a checkpoint', () => {
  it('is read as it was written: the orgs that changed, then what is covered', () => {
    const changed = new Map([
      [anOrg(1), aSequence(Number.MAX_SAFE_INTEGER)],
      [anOrg(2), aSequence(1, 0)],
    ]);
    expect(read(checkpointBatches(changed, { before: BEFORE, now: NOW }))).toEqual([
      [
        { kind: 'snapshot', orgId: anOrg(1), sequence: changed.get(anOrg(1)) },
        { kind: 'snapshot', orgId: anOrg(2), sequence: changed.get(anOrg(2)) },
        { kind: 'covered', covered: NOW },
      ],
    ]);
  });

  it('tells what is covered even when no org has changed', () => {
    expect(read(checkpointBatches(new Map(), { before: BEFORE, now: NOW }))).toEqual([
      [{ kind: 'covered', covered: NOW }],
    ]);
  });

  it('covers no more than before until its last batch: any prefix of it reads enough of the log', () => {
    const changed = new Map(Array.from({ length: 100 }, (_, n) => [anOrg(n + 1), aSequence(n + 1, 1_024)] as const));
    const batches = read(checkpointBatches(changed, { before: BEFORE, now: NOW }));
    expect(batches.length).toBeGreaterThan(2);
    for (const [index, batch] of batches.entries()) {
      const covered = batch.filter((record) => record.kind === 'covered');
      expect(covered).toEqual([{ kind: 'covered', covered: index === batches.length - 1 ? NOW : BEFORE }]);
      expect(batch.at(-1)).toBe(covered[0]);
    }
    const snapshots = batches.flat().filter((record) => record.kind === 'snapshot');
    expect(new Map(snapshots.map(({ orgId, sequence }) => [orgId, sequence]))).toEqual(changed);
  });

  it('has batches that a broker takes', () => {
    const changed = new Map(Array.from({ length: 300 }, (_, n) => [anOrg(n + 1), aSequence(n + 1, 1_024)] as const));
    for (const batch of checkpointBatches(changed, { before: BEFORE, now: NOW })) {
      const bytes = batch.reduce((sum, record) => sum + recordBytes({ ...record, topic: '' }), 0);
      expect(bytes).toBeLessThan(BROKER_BATCH_BYTES / 2);
    }
  });

  it.each([
    ['a foreign key', { key: Buffer.from('nobody') }],
    ['no key', { key: null }],
    ['a value that is no JSON', { value: Buffer.from('{') }],
    ['no value', { value: null }],
  ])('is refused with %s', (_case, change) => {
    const record: StoredRecord = {
      topic: 'sequences',
      partition: 0,
      offset: 0,
      key: Buffer.from(anOrg(1)),
      value: Buffer.from('{"last_seq":"1","recent_ids":[]}'),
      headers: {},
      timestampMs: 0,
    };
    expect(() => readCheckpoint({ ...record, ...change })).toThrow();
  });
});
