import { afterEach, expect, it, jest } from '@jest/globals';
import type { OverdueAttempt, OverdueDeliveries } from '#libs/postgres';
import { topicNames } from '#libs/kafka-log';
import { createLogger } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { aDueAttempt, anEndpointId } from '../../../../test/support/due-attempts.js';
import { FakeAppender } from '../../../../test/support/fake-appender.js';
import { anOrgId } from '../../../../test/support/ids.js';
import type { LaneProof } from '../lanes/lane-proof.js';
import { OVERDUE_MS, Reconciler } from './reconciler.js';

afterEach(() => {
  jest.restoreAllMocks();
});

it('puts an attempt back that a dispatcher leaves again and again, but only once in 5 minutes', async () => {
  let nowMs = 1_000_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  let due = [aDueAttempt(1)];
  const appender = new FakeAppender();
  const overdue: Pick<OverdueDeliveries, 'endpoints' | 'suspects' | 'stillDue'> = {
    endpoints: () => Promise.resolve({ endpoints: [{ id: anEndpointId(), orgId: anOrgId() }], next: null }),
    suspects: () =>
      Promise.resolve(
        due.map(({ delivery }): OverdueAttempt => {
          const { deliveryId, endpointId, createdAtMs } = delivery;
          return { deliveryId, endpointId, createdAt: new Date(createdAtMs), run: 0, attempts: 0, isUrgent: false };
        }),
      ),
    stillDue: (suspects) =>
      Promise.resolve({
        due: due.filter(({ delivery }) => suspects.some(({ deliveryId }) => deliveryId === delivery.deliveryId)),
        later: [],
      }),
  };
  const proof: Pick<LaneProof, 'of'> = {
    of: (endpoints) => Promise.resolve({ clear: endpoints.map(({ id }) => id), waiting: [], unknown: [] }),
  };
  const reconciler = new Reconciler(OVERDUE_MS, {
    overdue: overdue as OverdueDeliveries,
    proof: proof as LaneProof,
    appender: appender.asAppender,
    topics: topicNames('gapless', []),
    clock: { now: () => nowMs },
    logger: createLogger('silent', 'test'),
    metrics: new Metrics(),
    signal: new AbortController().signal,
  });
  expect(await reconciler.round()).toEqual({ putBack: 1, isMore: true });
  nowMs += 20_000;
  due = [...due, aDueAttempt(2)];
  expect(await reconciler.round()).toEqual({ putBack: 1, isMore: true });
  expect(await reconciler.round()).toEqual({ putBack: 0, isMore: false });
  nowMs += 280_000;
  expect(await reconciler.round()).toEqual({ putBack: 1, isMore: true });
  expect(appender.records).toHaveLength(3);
});
