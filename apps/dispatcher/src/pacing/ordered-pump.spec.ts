import { beforeEach, describe, expect, it } from '@jest/globals';
import type { DueAttempt } from '#libs/domain';
import type { DispatchLookupResult, OrderedDelivery, PacedEndpoint } from '#libs/postgres';
import { aDueAttempt, anEndpointId } from '../../../../test/support/due-attempts.js';
import type { OrderedResult } from '../attempts/attempt-maker.js';
import { Flight } from '../lanes/lane.js';
import type { OrderStarts } from './order-start.js';
import { OrderedPump } from './ordered-pump.js';

const endpointId = anEndpointId();
const endpoint: PacedEndpoint = {
  id: endpointId,
  orgId: aDueAttempt().delivery.orgId,
  maxPerSecond: null,
  maxInFlight: null,
  ordering: { by: 'endpoint', batch: 2 },
  orderedSinceMs: 1,
  isOrderBegun: true,
};
const FOUND = { kind: 'gone' } as DispatchLookupResult;

interface Made {
  readonly seqs: readonly number[];
  readonly answer: (result: OrderedResult) => void;
}

let nowMs: number;
let pending: OrderedDelivery[];
let made: Made[];
let prepared: (readonly number[])[];
let lookUps: number;
let pump: OrderedPump;

function seqsOf({ delivery, followers = [] }: DueAttempt): readonly number[] {
  return [delivery, ...followers.map((follower) => follower.delivery)].map(({ seq }) => seq);
}

beforeEach(() => {
  nowMs = 0;
  pending = Array.from({ length: 5 }, (_, nth) => {
    const { delivery } = aDueAttempt(nth + 1, endpointId);
    return { delivery: { ...delivery, lane: 0 }, attempts: 0, dueAtMs: 0 };
  });
  [made, prepared, lookUps] = [[], [], 0];
  pump = new OrderedPump({
    deliveries: {
      first: (ranges) =>
        Promise.resolve(
          ranges.map(({ after, limit }) => pending.filter(({ delivery }) => delivery.seq > after).slice(0, limit)),
        ),
      envelopes: (lists) => Promise.resolve(lists.map((list) => list.map(() => Buffer.alloc(100)))),
    },
    starts: {
      begin: () => ({ endpointId, isReady: true }),
      advance: () => Promise.resolve(),
    } as unknown as OrderStarts,
    find: () => {
      lookUps++;
      return Promise.resolve(FOUND);
    },
    prepare: (due) => {
      prepared.push(seqsOf(due));
    },
    make: (due, _found, _flight, _onSent, onResult) =>
      new Promise((resolve) => {
        const answer = (result: OrderedResult) => {
          onResult(result);
          resolve();
        };
        made.push({ seqs: seqsOf(due), answer });
      }),
    start: () => ({ flight: new Flight(() => nowMs), onSent: () => undefined, onOver: () => undefined }),
    clockMs: () => nowMs,
    nowMs: () => nowMs,
  });
  pump.follow([endpoint]);
});

/** Lets what was begun go on. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

async function round(): Promise<void> {
  await pump.round(1, () => true);
  await settle();
}

const doneAll = { kind: 'done', deliveries: 2 } as const;

describe('an ordered endpoint', () => {
  it('gets the next request as soon as it answers, without a round, look-up or read in between', async () => {
    await round();
    expect(made.map(({ seqs }) => seqs)).toEqual([[1, 2]]);
    const before = lookUps;
    made[0]!.answer(doneAll);
    await Promise.resolve();
    expect(made.map(({ seqs }) => seqs)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    // The one after it is looked up.
    expect(lookUps).toBe(before + 1);
  });

  it('has its next request prepared while it works, unless more may be added to it', async () => {
    await round();
    expect(prepared).toEqual([[3, 4]]);
    made[0]!.answer(doneAll);
    await settle();
    expect(prepared).toEqual([[3, 4]]);
  });

  it('is looked up again for its next request, so that a change takes effect', async () => {
    await round();
    const before = lookUps;
    pump.lookUp();
    expect(lookUps).toBe(before);
    nowMs = 60;
    pump.lookUp();
    expect(lookUps).toBe(before + 1);
  });

  it('is read again in the next assignment', async () => {
    await round();
    pending = pending.slice(1);
    nowMs = 1_000;
    await pump.round(2, () => true);
    await settle();
    expect(made.map(({ seqs }) => seqs)).toEqual([
      [1, 2],
      [2, 3],
    ]);
  });
});
