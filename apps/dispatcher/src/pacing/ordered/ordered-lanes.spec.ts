import { beforeEach, describe, expect, it } from '@jest/globals';
import type { OrderedDelivery } from '#libs/postgres';
import { aDueAttempt, anEndpointId } from '../../../../../test/support/due-attempts.js';
import type { OrderedResult } from '../../attempts/attempt-maker.js';
import { keysOf, OrderedLanes, type LaneRead, type OrderedLane } from './ordered-lanes.js';

const endpointId = anEndpointId();
const KB = Buffer.alloc(1_000, ' ');

function aRow(seq: number, more: Partial<OrderedDelivery> & { readonly lane?: number } = {}): OrderedDelivery {
  const { lane = 3, ...rest } = more;
  const { delivery } = aDueAttempt(seq, endpointId);
  return { delivery: { ...delivery, lane }, attempts: 0, dueAtMs: 0, ...rest };
}

let nowMs: number;
/** What looks pending. */
let pending: OrderedDelivery[];
let lanes: OrderedLanes;
/** What was read last. */
let asked: readonly LaneRead[];

beforeEach(() => {
  nowMs = 0;
  pending = [1, 2, 3, 4, 5].map((seq) => aRow(seq));
  lanes = new OrderedLanes(endpointId, { by: 'endpoint', batch: 3 });
});

/** Reads what the lanes ask for, but not its bytes yet. @returns what reads them */
function beginLook(envelope = KB, afterMs = 1_000): () => void {
  nowMs += afterMs;
  asked = lanes.reads(nowMs, nowMs);
  const wanted = asked.flatMap((read) => {
    const { lane, after, limit } = read.range;
    const rows = pending
      .filter(({ delivery }) => (lane === null || delivery.lane === lane) && delivery.seq > after)
      .slice(0, limit);
    return lanes.saw(read, rows, nowMs);
  });
  return () => {
    for (const [one, fresh] of wanted) {
      one.add(
        fresh,
        fresh.map(() => envelope),
      );
    }
  };
}

/** Reads what the lanes ask for. */
function look(envelope = KB): void {
  beginLook(envelope)();
}

/** Begins the next attempt of the lane. @returns its seqs */
function begin(lane: OrderedLane): readonly number[] {
  const due = lane.next(lanes.ordering.batch, nowMs);
  if (due === undefined) return [];
  lane.begin(due, nowMs);
  return [due.delivery, ...(due.followers ?? []).map(({ delivery }) => delivery)].map(({ seq }) => seq);
}

const theLane = () => lanes.lanes[0]!;

describe('a lane', () => {
  it('sends the lowest seqs, one request at a time, and goes on before the projection shows the outcome', () => {
    look();
    expect(begin(theLane())).toEqual([1, 2, 3]);
    look();
    expect(begin(theLane())).toEqual([]);
    theLane().end({ kind: 'done', deliveries: 3 });
    expect(begin(theLane())).toEqual([4, 5]);
    theLane().end({ kind: 'done', deliveries: 2 });
    look();
    expect(begin(theLane())).toEqual([]);
    pending = [aRow(6)];
    look();
    expect(begin(theLane())).toEqual([6]);
  });

  it('sends first what was not accepted', () => {
    look();
    begin(theLane());
    theLane().end({ kind: 'done', deliveries: 1 });
    expect(begin(theLane())).toEqual([2, 3, 4]);
  });

  it('waits for its head, sends it alone with the next attempt, and doubles then', () => {
    pending = Array.from({ length: 9 }, (_, nth) => aRow(nth + 1));
    look();
    begin(theLane());
    theLane().end({ kind: 'waits', untilMs: nowMs + 5_000 });
    look();
    expect(begin(theLane())).toEqual([]);
    nowMs += 5_000;
    look();
    // The projection may not show the failed attempt yet.
    expect(theLane().next(3, nowMs)).toMatchObject({ attempt: 2, delivery: { seq: 1 } });
    expect(begin(theLane())).toEqual([1]);
    theLane().end({ kind: 'done', deliveries: 1 });
    expect(begin(theLane())).toEqual([2, 3]);
    theLane().end({ kind: 'done', deliveries: 2 });
    expect(begin(theLane())).toEqual([4, 5, 6]);
  });

  it('waits for an endpoint that cannot be read, which is no attempt', () => {
    look();
    begin(theLane());
    theLane().end({ kind: 'unreadable', untilMs: nowMs + 5_000 });
    look();
    expect(begin(theLane())).toEqual([]);
    nowMs += 5_000;
    look();
    expect(theLane().next(3, nowMs)).toMatchObject({ attempt: 1, delivery: { seq: 1 } });
    expect(begin(theLane())).toEqual([1, 2, 3]);
  });

  it('waits for a retry of an earlier owner', () => {
    pending = [aRow(1, { attempts: 2, dueAtMs: 9_000 }), aRow(2)];
    look();
    expect(begin(theLane())).toEqual([]);
    nowMs = 9_000;
    look();
    expect(theLane().next(3, nowMs)).toMatchObject({ attempt: 3, delivery: { seq: 1 } });
  });

  it('sends alone what failed at an earlier owner, and doubles then', () => {
    pending = Array.from({ length: 9 }, (_, nth) => aRow(nth + 1, nth === 0 ? { attempts: 1 } : {}));
    look();
    expect(begin(theLane())).toEqual([1]);
    theLane().end({ kind: 'done', deliveries: 1 });
    expect(begin(theLane())).toEqual([2, 3]);
    theLane().end({ kind: 'done', deliveries: 2 });
    expect(begin(theLane())).toEqual([4, 5, 6]);
  });

  it('prepares alone what failed at an earlier owner, while it sends what comes before', () => {
    pending = Array.from({ length: 9 }, (_, nth) => aRow(nth + 1, nth === 3 ? { attempts: 1 } : {}));
    look();
    expect(begin(theLane())).toEqual([1, 2, 3]);
    const upcoming = theLane().upcoming(3, nowMs)!;
    expect(upcoming.followers).toBeUndefined();
    theLane().end({ kind: 'done', deliveries: 3 });
    expect(theLane().next(3, nowMs)).toEqual(upcoming);
  });

  it('waits no longer for a retry if the clock of the brokers is an hour ahead', () => {
    look();
    begin(theLane());
    theLane().end({ kind: 'waits', untilMs: nowMs + 5_000 });
    pending[0] = aRow(1, { attempts: 1, dueAtMs: nowMs + 5_000 + 3_600_000 });
    look();
    expect(begin(theLane())).toEqual([]);
    nowMs += 5_000;
    look();
    expect(theLane().next(3, nowMs)).toMatchObject({ attempt: 2, delivery: { seq: 1 } });
    expect(begin(theLane())).toEqual([1]);
  });

  it('goes on when its head is not pending any more', () => {
    look();
    begin(theLane());
    theLane().end({ kind: 'waits', untilMs: nowMs + 60_000 });
    pending = pending.slice(1);
    look();
    look();
    expect(begin(theLane())).toEqual([2]);
  });

  it('sends again what is done here, but had another attempt that failed', () => {
    look();
    expect(begin(theLane())).toEqual([1, 2, 3]);
    theLane().end({ kind: 'done', deliveries: 1 });
    pending[0] = aRow(1, { attempts: 1, dueAtMs: nowMs });
    look();
    expect(theLane().next(3, nowMs)).toMatchObject({ attempt: 2, delivery: { seq: 1 } });
  });

  it('looks up its next request again when others take the place of deliveries that are not pending any more', () => {
    look();
    begin(theLane());
    pending.push(aRow(6), aRow(7));
    look();
    const next = theLane().attemptOf(theLane().queue[0]!, 3, nowMs);
    theLane().lookedUp = { keys: keysOf(next), found: { kind: 'gone' }, atMs: nowMs };
    beginLook(KB, 100)();
    expect(theLane().foundFor(next, nowMs)).toEqual({ kind: 'gone' });
    pending = pending.filter(({ delivery }) => delivery.seq !== 5);
    nowMs += 5_000;
    theLane().lookedUp = { ...theLane().lookedUp!, atMs: nowMs };
    beginLook(KB, 0)();
    expect(theLane().foundFor(next, nowMs)).toBeUndefined();
  });

  it('looks up its next request again when others were added to it, and not when it is a part of what was looked up', () => {
    pending = [1, 2].map((seq) => aRow(seq));
    look();
    const attempt = () => theLane().attemptOf(theLane().queue[0]!, 3, nowMs);
    const ofTwo = attempt();
    pending.push(aRow(3));
    look();
    theLane().lookedUp = { keys: keysOf(ofTwo), found: { kind: 'gone' }, atMs: nowMs };
    expect(keysOf(attempt())).toHaveLength(3);
    expect(theLane().foundFor(attempt(), nowMs)).toBeUndefined();
    theLane().lookedUp = { keys: keysOf(attempt()), found: { kind: 'gone' }, atMs: nowMs };
    expect(theLane().foundFor(ofTwo, nowMs)).toEqual({ kind: 'gone' });
  });

  it('does not send what was read while its head failed', () => {
    look();
    begin(theLane());
    pending.push(aRow(6));
    const underWay = beginLook();
    theLane().end({ kind: 'waits', untilMs: nowMs + 5_000 });
    underWay();
    // A look that begins before the end of the wait is for the head alone.
    nowMs += 4_000;
    const [read] = lanes.reads(nowMs, nowMs);
    expect(read!.range.limit).toBe(1);
    nowMs += 2_000;
    for (const [one, fresh] of lanes.saw(read!, pending.slice(0, 1), nowMs)) one.add(fresh, [KB]);
    expect(begin(theLane())).toEqual([1]);
    theLane().end({ kind: 'done', deliveries: 1 });
    expect(begin(theLane())).toEqual([]);
    look();
    expect(begin(theLane())).toEqual([2, 3]);
  });

  it.each<[string, OrderedResult]>([
    ['was not made', { kind: 'left' }],
    ['failed and its wait is over', { kind: 'waits', untilMs: 0 }],
    ['could not begin and its wait is over', { kind: 'unreadable', untilMs: 0 }],
  ])('does not send what was asked for before an attempt %s', (_what, result) => {
    look();
    begin(theLane());
    pending.push(aRow(6));
    nowMs += 1_000;
    const [read] = lanes.reads(nowMs, nowMs);
    expect(read!.range.after).toBe(5);
    theLane().end(result);
    for (const [one, fresh] of lanes.saw(read!, pending.slice(-1), nowMs)) one.add(fresh, [KB]);
    expect(begin(theLane())).toEqual([]);
    look();
    expect(begin(theLane())[0]).toBe(1);
  });

  it('does not send what was read while an attempt was not made', () => {
    look();
    begin(theLane());
    pending.push(aRow(6));
    const underWay = beginLook();
    theLane().end({ kind: 'left' });
    underWay();
    expect(begin(theLane())).toEqual([]);
    look();
    expect(begin(theLane())).toEqual([1, 2, 3]);
  });

  it('sends at most a megabyte, but at least one delivery', () => {
    look(Buffer.alloc(400_000));
    expect(begin(theLane())).toEqual([1, 2]);
    lanes = new OrderedLanes(endpointId, { by: 'endpoint', batch: 3 });
    look(Buffer.alloc(2_000_000));
    expect(begin(theLane())).toEqual([1]);
  });

  it('reads three requests ahead, and no more while the projection is behind', () => {
    pending = Array.from({ length: 100 }, (_, nth) => aRow(nth + 1));
    lanes = new OrderedLanes(endpointId, { by: 'endpoint', batch: 20 });
    for (let round = 0; round < 3; round++) {
      for (let looks = 0; looks < 5; looks++) look();
      expect(theLane().queue).toHaveLength(60);
      expect(begin(theLane())).toHaveLength(20);
      theLane().end({ kind: 'done', deliveries: 20 });
    }
  });

  it('reads what follows the known deliveries alone, and all of them now and then', () => {
    pending = Array.from({ length: 100 }, (_, nth) => aRow(nth + 1));
    lanes = new OrderedLanes(endpointId, { by: 'endpoint', batch: 20 });
    look();
    begin(theLane());
    beginLook(KB, 100)();
    expect(asked).toMatchObject([{ range: { after: 60, limit: 20 } }]);
    theLane().end({ kind: 'done', deliveries: 20 });
    begin(theLane());
    // The first ones are not projected yet, and one of the others was skipped.
    pending = pending.filter(({ delivery }) => delivery.seq !== 50);
    beginLook(KB, 100)();
    expect(asked).toMatchObject([{ range: { after: 80, limit: 20 } }]);
    expect(theLane().queue.some(({ delivery }) => delivery.seq === 50)).toBe(true);
    // Those that are done, and then all.
    beginLook(KB, 300)();
    expect(asked).toMatchObject([{ range: { after: 0, limit: 21 } }]);
    beginLook(KB, 4_500)();
    expect(asked).toMatchObject([{ range: { after: 0, limit: 100 } }]);
    expect(theLane().queue.some(({ delivery }) => delivery.seq === 50)).toBe(false);
  });

  it('sends a delivery that appears late as the next one', () => {
    pending = pending.filter(({ delivery }) => delivery.seq !== 2);
    look();
    expect(begin(theLane())).toEqual([1, 3, 4]);
    pending = [1, 2, 3, 4, 5].map((seq) => aRow(seq));
    beginLook(KB, 5_000)();
    theLane().end({ kind: 'done', deliveries: 3 });
    expect(begin(theLane())).toEqual([2, 5]);
  });

  it('waits for the projection when it is far behind', () => {
    pending = Array.from({ length: 4_500 }, (_, nth) => aRow(nth + 1));
    lanes = new OrderedLanes(endpointId, { by: 'endpoint', batch: 500 });
    for (let request = 0; request < 8; request++) {
      look();
      expect(lanes.mayBegin).toBe(true);
      expect(begin(theLane())).toHaveLength(500);
      theLane().end({ kind: 'done', deliveries: 500 });
    }
    expect(lanes.mayBegin).toBe(false);
    pending = pending.slice(4_000);
    look();
    expect(lanes.mayBegin).toBe(true);
  });
});

describe('the lanes of subjects', () => {
  it('do not wait for each other', () => {
    lanes = new OrderedLanes(endpointId, { by: 'subject', batch: 1 });
    pending = [aRow(1, { lane: 0 }), aRow(2, { lane: 1 }), aRow(3, { lane: 0 }), aRow(4, { lane: 1 })];
    look();
    const [one, other] = lanes.lanes;
    expect([begin(one!), begin(other!)]).toEqual([[1], [2]]);
    one!.end({ kind: 'waits', untilMs: nowMs + 60_000 });
    other!.end({ kind: 'done', deliveries: 1 });
    look();
    expect([begin(one!), begin(other!)]).toEqual([[], [4]]);
  });

  it('are read one by one while a long one waits', () => {
    lanes = new OrderedLanes(endpointId, { by: 'subject', batch: 1 });
    pending = Array.from({ length: 500 }, (_, nth) => aRow(nth + 1, { lane: 0 }));
    look();
    const [one, other] = lanes.lanes;
    expect(begin(one!)).toEqual([1]);
    one!.end({ kind: 'waits', untilMs: nowMs + 60_000 });
    pending.push(aRow(501, { lane: 1 }));
    look();
    expect(begin(other!)).toEqual([501]);
  });
});
