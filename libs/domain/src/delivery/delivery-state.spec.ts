import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { attempted, CREATED_AT_MS, ended, replayed, scheduled } from '../testing/facts.js';
import type { Attempted, Ended, Replayed, Scheduled } from './facts/delivery-fact.js';
import { foldDelivery, type DeliveryState } from './delivery-state.js';

type Fact = Scheduled | Attempted | Replayed | Ended;

function fold(facts: readonly Fact[]): DeliveryState | undefined {
  return facts.reduce<DeliveryState | undefined>(foldDelivery, undefined);
}

/** The possible facts of a delivery, run by run: failed attempts, perhaps a last one, perhaps an end of its endpoint. */
const history = fc
  .array(
    fc.record({
      retries: fc.nat({ max: 4 }),
      last: fc.constantFrom('none', 'delivered', 'exhausted'),
      isEnded: fc.boolean(),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((runs) =>
    runs.flatMap(({ retries, last, isEnded }, run): Fact[] => [
      run === 0 ? scheduled() : replayed(run),
      ...Array.from({ length: retries }, (_, index) => attempted(run, index + 1, 'retry')),
      ...(last === 'none' ? [] : [attempted(run, retries + 1, last)]),
      ...(isEnded ? [ended(run)] : []),
    ]),
  );

/** Each fact any number of times, none included: whatever order and repeats Kafka comes up with. */
const twoOrders = history.chain((facts) =>
  fc
    .subarray(facts, { minLength: 1 })
    .chain((some) =>
      fc.tuple(fc.shuffledSubarray([...some, ...some], { minLength: some.length * 2 }), fc.constant(some)),
    ),
);

/** The row by its definition, without an order: of the latest run, its latest attempt and whether it was ended. */
function rowOf(facts: readonly Fact[]): Omit<DeliveryState, 'nextAttemptAtMs'> {
  const runOf = (fact: Fact) => (fact.type === 'scheduled' ? 0 : fact.run);
  const run = Math.max(...facts.map(runOf));
  const ofRun = facts.filter((fact) => runOf(fact) === run);
  const last = ofRun
    .filter((fact) => fact.type === 'attempted')
    .reduce<Attempted | undefined>((best, fact) => (best && best.attempt > fact.attempt ? best : fact), undefined);
  const isDelivered = last?.next === 'delivered';
  const isExhausted = last?.next === 'exhausted';
  const isEnded = !isDelivered && !isExhausted && ofRun.some((fact) => fact.type === 'ended');
  return {
    run,
    status: isDelivered ? 'delivered' : isExhausted || isEnded ? 'failed' : 'pending',
    attempts: last?.attempt ?? 0,
    responseStatus: last?.responseStatus ?? null,
    lastError: isEnded ? 'endpoint_disabled' : (last?.error ?? null),
    deliveredAtMs: isDelivered ? last.startedAtMs + last.durationMs : null,
  };
}

describe('foldDelivery', () => {
  it('makes the same row of the same facts, whichever order they come in and however often', () => {
    fc.assert(
      fc.property(twoOrders, ([shuffled, inOrder]) => {
        expect(fold(shuffled)).toEqual(fold(inOrder));
        expect(fold(inOrder)).toMatchObject(rowOf(inOrder));
      }),
      { numRuns: 1_000 },
    );
  });

  it('has a next attempt exactly while it is pending', () => {
    fc.assert(
      fc.property(twoOrders, ([facts]) => {
        const row = fold(facts)!;
        expect(row.nextAttemptAtMs !== null).toBe(row.status === 'pending');
      }),
    );
  });

  it('is pending with its first attempt due at once when it is scheduled', () => {
    expect(fold([scheduled()])).toEqual({
      run: 0,
      status: 'pending',
      attempts: 0,
      responseStatus: null,
      lastError: null,
      nextAttemptAtMs: CREATED_AT_MS,
      deliveredAtMs: null,
    });
  });

  it('keeps the answer and the error of a failed attempt, and when the next one is due', () => {
    const failed = attempted(0, 2, 'retry');
    expect(fold([scheduled(), attempted(0, 1, 'retry'), failed])).toMatchObject({
      status: 'pending',
      attempts: 2,
      responseStatus: failed.responseStatus,
      lastError: failed.error,
      nextAttemptAtMs: failed.nextAttemptAtMs,
    });
  });

  it('is delivered at the end of the attempt that succeeded, without an error', () => {
    const delivered = attempted(0, 2, 'delivered');
    expect(fold([scheduled(), attempted(0, 1, 'retry'), delivered])).toMatchObject({
      status: 'delivered',
      attempts: 2,
      responseStatus: delivered.responseStatus,
      lastError: null,
      nextAttemptAtMs: null,
      deliveredAtMs: delivered.startedAtMs + delivered.durationMs,
    });
  });

  it('starts again with a replay: nothing of the earlier run is left', () => {
    expect(fold([scheduled(), attempted(0, 1, 'exhausted'), replayed(1)])).toEqual({
      run: 1,
      status: 'pending',
      attempts: 0,
      responseStatus: null,
      lastError: null,
      nextAttemptAtMs: replayed(1).atMs,
      deliveredAtMs: null,
    });
  });

  it.each([
    ['a success', attempted(0, 7, 'delivered')],
    ['a failure', attempted(0, 7, 'retry')],
    ['a last failure', attempted(0, 9, 'exhausted')],
    ['an end', ended(0)],
    ['a repeated scheduling', scheduled()],
  ])('leaves a replay as it is when %s from before it comes late', (_case, late) => {
    const replay = fold([scheduled(), replayed(1), attempted(1, 1, 'retry')]);
    expect(foldDelivery(replay, late)).toEqual(replay);
  });

  it('takes the first of two outcomes of the same attempt, which was made twice after a crash', () => {
    const first = fold([scheduled(), attempted(0, 1, 'retry')]);
    expect(foldDelivery(first, attempted(0, 1, 'delivered'))).toEqual(first);
  });

  describe('when its endpoint ends', () => {
    it('fails with the reason, and keeps its attempts', () => {
      expect(fold([scheduled(), attempted(0, 1, 'retry'), ended(0, 'endpoint_deleted')])).toMatchObject({
        status: 'failed',
        attempts: 1,
        lastError: 'endpoint_deleted',
        nextAttemptAtMs: null,
      });
    });

    it.each([
      ['delivered', attempted(0, 1, 'delivered'), { status: 'delivered', lastError: null }],
      ['exhausted', attempted(0, 1, 'exhausted'), { status: 'failed', lastError: 'http_status: 501' }],
      ['retry', attempted(0, 1, 'retry'), { status: 'failed', lastError: 'endpoint_disabled', attempts: 1 }],
    ])('gives the same with an attempt in flight (%s) before and after the end', (_next, attempt, row) => {
      expect(fold([scheduled(), attempt, ended(0)])).toMatchObject(row);
      expect(fold([scheduled(), ended(0), attempt])).toEqual(fold([scheduled(), attempt, ended(0)]));
    });

    it('is pending again once it is replayed', () => {
      expect(fold([scheduled(), ended(0), replayed(1)])).toMatchObject({ status: 'pending', lastError: null });
    });
  });
});
