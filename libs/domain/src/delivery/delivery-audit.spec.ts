import { describe, expect, it } from '@jest/globals';
import type { EndpointId } from '../kernel/index.js';
import { aDelivery, attempted, CREATED_AT_MS, ended, replayed, scheduled } from '../testing/facts.js';
import { DeliveryAudit } from './delivery-audit.js';
import type { DeliveryFact, EndpointDisabled } from './facts/delivery-fact.js';

const OTHER_ENDPOINT = `whe_${'F'.repeat(26)}` as EndpointId;

const disabled: EndpointDisabled = {
  type: 'endpoint_disabled',
  endpointId: aDelivery().endpointId,
  orgId: aDelivery().orgId,
  activation: 1,
  atMs: CREATED_AT_MS,
};

function statesOf(facts: readonly DeliveryFact[], autoDisableAfter = 20) {
  const audit = new DeliveryAudit(autoDisableAfter, () => true);
  for (const fact of facts) audit.add(fact);
  return [...audit.deliveries()].map(({ ref, state, attemptsMade }) => ({
    seq: ref.seq,
    status: state.status,
    lastError: state.lastError,
    attempts: state.attempts,
    attemptsMade,
  }));
}

describe('the audit of delivery facts', () => {
  it('folds each delivery, and counts the attempts of all of its runs once', () => {
    const first = attempted(0, 1, 'exhausted');
    expect(statesOf([scheduled(), first, first, replayed(1), attempted(1, 1, 'delivered'), first])).toEqual([
      { seq: 1, status: 'delivered', lastError: null, attempts: 1, attemptsMade: 2 },
    ]);
  });

  it('keeps the first previous event that a fact names', () => {
    const audit = new DeliveryAudit(20, () => true);
    for (const previousSeq of [null, 7, 5]) audit.add(scheduled({ ...aDelivery(9), previousSeq }));
    audit.add(replayed(1, aDelivery(9)));
    expect([...audit.deliveries()].map(({ ref }) => ref.previousSeq)).toEqual([7]);
  });

  it('ends what is pending when an operator disables the endpoint, and nothing of other endpoints', () => {
    const [delivered, pending] = [aDelivery(1), aDelivery(2)];
    const other = aDelivery(3, OTHER_ENDPOINT);
    const facts = [attempted(0, 1, 'delivered', { delivery: delivered }), scheduled(pending), scheduled(other)];
    const later = scheduled(aDelivery(4));
    expect(statesOf([...facts, disabled, later]).map(({ seq, status, lastError }) => [seq, status, lastError])).toEqual(
      [
        [1, 'delivered', null],
        [2, 'failed', 'endpoint_disabled'],
        [4, 'pending', null],
        [3, 'pending', null],
      ],
    );
  });

  it('ends what is pending with the attempt that disables the endpoint, however often its fact comes', () => {
    const failed = (nth: number) => attempted(0, 1, 'retry', { delivery: aDelivery(nth) });
    const pending = scheduled(aDelivery(9));
    expect(statesOf([pending, failed(1), failed(1), failed(2)], 3)[0]).toMatchObject({ status: 'pending' });
    expect(statesOf([pending, failed(1), failed(2), failed(3)], 3)[0]).toMatchObject({
      status: 'failed',
      lastError: 'endpoint_disabled',
    });
  });

  it('ends nothing of the next activation with late failures of the one before', () => {
    const failed = (nth: number) => attempted(0, 1, 'retry', { delivery: aDelivery(nth) });
    const facts = [failed(1), failed(2), disabled, scheduled(aDelivery(9)), failed(3)];
    expect(statesOf(facts, 3).at(2)).toMatchObject({ seq: 9, status: 'pending' });
  });

  it.each([
    ['a delivery without an earlier fact', []],
    ['one that was scheduled after it', [scheduled()]],
  ])('ends %s with its failure that was in flight when the endpoint was disabled', (_case, earlier) => {
    const facts = [disabled, ...earlier, attempted(0, 1, 'retry')];
    expect(statesOf(facts)).toEqual([
      { seq: 1, status: 'failed', lastError: 'endpoint_disabled', attempts: 1, attemptsMade: 1 },
    ]);
    expect(statesOf([...facts, replayed(1), attempted(0, 1, 'retry')])).toMatchObject([{ status: 'pending' }]);
    const ofNext = attempted(0, 1, 'retry', { activation: 2 });
    expect(statesOf([disabled, ...earlier, ofNext])).toMatchObject([{ status: 'pending' }]);
  });

  it('ends deliveries with failures that were in flight when an attempt disabled the endpoint', () => {
    const failed = (nth: number) => attempted(0, 1, 'retry', { delivery: aDelivery(nth) });
    expect(statesOf([failed(1), failed(2), failed(3)], 2).map(({ lastError }) => lastError)).toEqual(
      Array(3).fill('endpoint_disabled'),
    );
  });

  it('keeps what fails long after an operator disabled the endpoint: the request failed, and it is still active', () => {
    const delivery = { ...aDelivery(), createdAtMs: CREATED_AT_MS - 60_000 };
    const failure = attempted(0, 1, 'retry', { delivery });
    const disabledBefore = (ms: number) => ({ ...disabled, atMs: failure.startedAtMs - ms });
    expect(statesOf([disabledBefore(60_000), failure])).toMatchObject([{ status: 'failed' }]);
    expect(statesOf([disabledBefore(60_001), failure])).toMatchObject([{ status: 'pending' }]);
  });

  it('keeps events that came after an operator disabled the endpoint: the request failed, and it is still active', () => {
    const failure = attempted(0, 1, 'retry');
    const disabledBefore = (ms: number) => ({ ...disabled, atMs: failure.delivery.createdAtMs - ms });
    expect(statesOf([disabledBefore(1_000), failure])).toMatchObject([{ status: 'failed' }]);
    expect(statesOf([disabledBefore(1_001), failure])).toMatchObject([{ status: 'pending' }]);
  });

  it('keeps what is wanted alone, and disables endpoints by the attempts of all', () => {
    const wanted = aDelivery(1);
    const audit = new DeliveryAudit(2, (id) => id === wanted.deliveryId);
    audit.add(scheduled(wanted));
    for (const nth of [2, 3]) audit.add(attempted(0, 1, 'retry', { delivery: aDelivery(nth) }));
    expect([...audit.deliveries()]).toMatchObject([{ ref: wanted, state: { lastError: 'endpoint_disabled' } }]);
  });

  it('knows deliveries that ended with their endpoint', () => {
    expect(statesOf([scheduled(), ended(0, 'endpoint_deleted')])).toMatchObject([{ lastError: 'endpoint_deleted' }]);
  });
});
