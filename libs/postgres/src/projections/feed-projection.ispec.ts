import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { EventId, OrgId, Seq, SequenceGap } from '#libs/domain';
import { anOrgId } from '../../../../test/support/ids.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { DayPartitions } from './days/day-partitions.js';
import { FeedProjection, type FeedEvent } from './feed-projection.js';
import { FeedReader } from '../feed/reading/feed-reader.js';
import type { Stretch } from './projection-offsets.js';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';

const DAY_MS = 86_400_000;
const APPENDED_AT_MS = Date.UTC(2026, 5, 1, 12);

let store: Store;
let drop: () => Promise<void>;
let orgId: OrgId;
let topic: string;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
});

afterAll(async () => {
  await drop();
});

beforeEach(() => {
  orgId = anOrgId();
  topic = `log-${randomBytes(4).toString('hex')}`;
});

function stretch(firstOffset: number, nextOffset: number, partition = 0): Stretch {
  return { projection: 'feed', topic, partition, firstOffset, nextOffset };
}

/** The event with that seq, at the offset right before it: what a log without repeats holds. */
function anEvent(seq: number, change: Partial<FeedEvent> = {}): FeedEvent {
  return {
    offset: seq - 1,
    orgId,
    seq: seq as Seq,
    id: `evt_${String(seq).padStart(26, '0')}` as EventId,
    event: 'ticket.created',
    widgetId: null,
    appendedAtMs: APPENDED_AT_MS + seq,
    envelope: Buffer.from(`{"seq":${seq}}`),
    ...change,
  };
}

/** The events at the offsets from `first` up to, not including, `next`. */
function apply(projection: FeedProjection, first: number, next: number) {
  return projection.apply(
    stretch(first, next),
    Array.from({ length: next - first }, (_, index) => anEvent(first + index + 1)),
  );
}

async function seqs(): Promise<readonly number[]> {
  const rows = await store.query<{ seq: string }>('select seq from events where org_id = $1 order by appended_at', [
    orgId,
  ]);
  return rows.map(({ seq }) => Number(seq));
}

async function nextOffset(): Promise<number> {
  const [row] = await store.query<{ next_offset: string }>(
    `select next_offset from projection_offsets where projection = 'feed' and topic = $1`,
    [topic],
  );
  return Number(row?.next_offset);
}

describe('FeedProjection', () => {
  it('finds and reports a seq that is missing in the log', async () => {
    const gaps: SequenceGap[] = [];
    const projection = new FeedProjection(store, (gap) => gaps.push(gap));
    await apply(projection, 0, 5);
    expect(projection.read()).toEqual({ checked: 5, gaps: 0, repeats: 0, mismatches: 0 });
    await projection.apply(stretch(5, 8), [
      anEvent(5, { offset: 5 }),
      anEvent(8, { offset: 6 }),
      anEvent(9, { offset: 7 }),
    ]);
    expect(projection.read()).toEqual({ checked: 8, gaps: 2, repeats: 1, mismatches: 0 });
    expect(gaps).toEqual([{ orgId, after: 5, found: 8 }]);
    // Another process, which knows the org from Postgres, finds the next one as well.
    const other = new FeedProjection(store, (gap) => gaps.push(gap));
    await other.apply(stretch(8, 9), [anEvent(11, { offset: 8 })]);
    expect(gaps.at(-1)).toEqual({ orgId, after: 9, found: 11 });
  });

  it('stores each event once, when the same batch comes again, to it and to another projector', async () => {
    const one = new FeedProjection(store);
    expect(await apply(one, 0, 5)).toEqual({ kind: 'applied' });
    expect(await apply(one, 0, 5)).toEqual({ kind: 'applied', repeated: true });
    expect(await apply(new FeedProjection(store), 0, 5)).toEqual({ kind: 'applied', repeated: true });
    expect(await seqs()).toEqual(oneTo(5));
    expect(await nextOffset()).toBe(5);
  });

  it('stores each event once when batches overlap', async () => {
    const one = new FeedProjection(store);
    await apply(one, 0, 5);
    await apply(one, 3, 8);
    await apply(new FeedProjection(store), 2, 10);
    await apply(one, 9, 12);
    expect(await seqs()).toEqual(oneTo(12));
    expect(await nextOffset()).toBe(12);
  });

  it('stores each event once when two projectors work on the same partition at the same time', async () => {
    await apply(new FeedProjection(store), 0, 1);
    const projections = [new FeedProjection(store), new FeedProjection(store)];
    // A batch that the other one is not at yet is refused; both go on until everything is applied.
    await Promise.all(
      projections.map(async (projection, nth) => {
        const size = 3 + nth * 2;
        for (let first = 0; first < 60;) {
          const applied = await apply(projection, first, Math.min(60, first + size));
          first = applied.kind === 'behind' ? applied.nextOffset : Math.min(60, first + size);
        }
      }),
    );
    expect(await seqs()).toEqual(oneTo(60));
    expect(await nextOffset()).toBe(60);
  });

  it('goes on after the day of late events was dropped', async () => {
    const projection = new FeedProjection(store);
    await apply(projection, 0, 2);
    await new DayPartitions(store).drop(APPENDED_AT_MS + 2 * DAY_MS);
    await apply(projection, 2, 4);
    expect(await seqs()).toEqual([3, 4]);
    expect(await nextOffset()).toBe(4);
  });

  it('leaves byte-identical repeats of the log out, inside a batch and across batches and projectors', async () => {
    const one = new FeedProjection(store);
    await one.apply(stretch(0, 4), [
      anEvent(1),
      anEvent(2),
      anEvent(1, { offset: 2, appendedAtMs: APPENDED_AT_MS + DAY_MS }),
      anEvent(2, { offset: 3, appendedAtMs: APPENDED_AT_MS + DAY_MS }),
    ]);
    await one.apply(stretch(4, 6), [
      anEvent(2, { offset: 4, appendedAtMs: APPENDED_AT_MS + DAY_MS }),
      anEvent(3, { offset: 5 }),
    ]);
    await new FeedProjection(store).apply(stretch(6, 8), [
      anEvent(3, { offset: 6, appendedAtMs: APPENDED_AT_MS + DAY_MS }),
      anEvent(4, { offset: 7 }),
    ]);
    expect(await seqs()).toEqual(oneTo(4));
  });

  it('returns its next offset when it is given events that lie ahead, and stores none of them', async () => {
    const one = new FeedProjection(store);
    await apply(one, 0, 5);
    expect(await apply(one, 7, 9)).toEqual({ kind: 'behind', nextOffset: 5 });
    expect(await apply(new FeedProjection(store), 6, 9)).toEqual({ kind: 'behind', nextOffset: 5 });
    expect(await seqs()).toEqual(oneTo(5));
    expect(await nextOffset()).toBe(5);
  });

  it('stores again what a database lacks that was put back while the projector runs', async () => {
    const one = new FeedProjection(store);
    await apply(one, 0, 6);
    await store.query('delete from events where org_id = $1 and seq > 2', [orgId]);
    await store.query('update org_heads set last_seq = 2 where org_id = $1', [orgId]);
    await store.query('update projection_offsets set next_offset = 2 where topic = $1', [topic]);
    expect(await apply(one, 6, 8)).toEqual({ kind: 'behind', nextOffset: 2 });
    await apply(one, 2, 5);
    await apply(one, 5, 8);
    expect(await seqs()).toEqual(oneTo(8));
  });

  it('begins with the first batch that it is given', async () => {
    const one = new FeedProjection(store);
    await one.apply(stretch(40, 41), [anEvent(9, { offset: 40 })]);
    expect(await seqs()).toEqual([9]);
    expect(await nextOffset()).toBe(41);
  });

  it('notices what another projector has stored meanwhile', async () => {
    const [one, other] = [new FeedProjection(store), new FeedProjection(store)];
    await apply(one, 0, 3);
    await apply(other, 3, 6);
    await apply(one, 3, 8);
    await apply(other, 6, 10);
    expect(await seqs()).toEqual(oneTo(10));
  });

  it('knows where an org is after a batch that was stored without its knowledge', async () => {
    const gaps: SequenceGap[] = [];
    const projection = new FeedProjection(store, (gap) => gaps.push(gap));
    await apply(projection, 0, 3);
    // As when the answer to the statement got lost, and the batch comes again.
    await apply(new FeedProjection(store), 3, 6);
    await apply(projection, 3, 6);
    await apply(projection, 6, 8);
    expect(gaps).toEqual([]);
    await projection.apply(stretch(8, 9), [anEvent(6, { offset: 8 })]);
    expect(await seqs()).toEqual(oneTo(8));
  });

  it('leaves out repeats of what another projector has stored meanwhile', async () => {
    const one = new FeedProjection(store);
    await apply(one, 0, 3);
    await apply(new FeedProjection(store), 3, 6);
    const later = { appendedAtMs: APPENDED_AT_MS + DAY_MS };
    await one.apply(stretch(6, 9), [
      anEvent(5, { offset: 6, ...later }),
      anEvent(6, { offset: 7, ...later }),
      anEvent(7, { offset: 8, ...later }),
    ]);
    expect(await seqs()).toEqual(oneTo(7));
  });

  it('keeps partitions apart', async () => {
    const one = new FeedProjection(store);
    const other = anOrgId();
    await one.apply(stretch(0, 1, 0), [anEvent(1)]);
    await one.apply(stretch(0, 1, 1), [anEvent(1, { orgId: other })]);
    const rows = await store.query('select 1 from events where org_id = any($1)', [[orgId, other]]);
    expect(rows).toHaveLength(2);
  });

  it('moves its offset with its rows: a batch that cannot be stored leaves both as they were', async () => {
    const one = new FeedProjection(store);
    await apply(one, 0, 2);
    const unstorable = anEvent(4, { event: null as unknown as string });
    await expect(one.apply(stretch(2, 4), [anEvent(3), unstorable])).rejects.toThrow('event_type');
    expect(await seqs()).toEqual(oneTo(2));
    expect(await nextOffset()).toBe(2);
    expect(await apply(one, 2, 4)).toEqual({ kind: 'applied' });
    expect(await seqs()).toEqual(oneTo(4));
  });

  it('moves on over offsets that hold nothing for it', async () => {
    await new FeedProjection(store).apply(stretch(0, 50), []);
    expect(await nextOffset()).toBe(50);
  });

  it('stores the bytes as they are, and has the head at the last seq', async () => {
    const envelope = Buffer.from('{ "n": 1.0, "t": "ä" }');
    await new FeedProjection(store).apply(stretch(0, 2), [anEvent(1, { envelope }), anEvent(2)]);
    const page = await new FeedReader(store, 30 * DAY_MS).page(
      orgId,
      { since: 0 as Seq, limit: 10 },
      APPENDED_AT_MS + DAY_MS,
    );
    expect(page.items[0]?.envelope).toBe(envelope.toString());
    expect(page).toMatchObject({ oldestSeq: 1, headSeq: 2, nextSeq: null });
  });
});
