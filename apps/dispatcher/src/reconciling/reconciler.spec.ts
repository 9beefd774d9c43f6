import { afterEach, expect, it, jest } from '@jest/globals';
import type { DueAttempt } from '#libs/domain';
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

type Overdue = Pick<OverdueDeliveries, 'endpoints' | 'suspects' | 'stillDue'>;

function suspectOf({ delivery }: DueAttempt): OverdueAttempt {
  const { deliveryId, endpointId, createdAtMs } = delivery;
  return { deliveryId, endpointId, createdAt: new Date(createdAtMs), run: 0, attempts: 0, isUrgent: false };
}

/** A reconciler for attempts of an endpoint for which nothing waits. */
function aReconciler(overdue: Omit<Overdue, 'endpoints'>, appender: FakeAppender, now: () => number): Reconciler {
  const endpoints: Overdue['endpoints'] = () =>
    Promise.resolve({ endpoints: [{ id: anEndpointId(), orgId: anOrgId() }], next: null });
  const proof: Pick<LaneProof, 'of'> = {
    of: (asked) => Promise.resolve({ clear: asked.map(({ id }) => id), waiting: [], unknown: [] }),
  };
  return new Reconciler(OVERDUE_MS, {
    overdue: { ...overdue, endpoints } as OverdueDeliveries,
    proof: proof as LaneProof,
    appender: appender.asAppender,
    topics: topicNames('gapless', []),
    clock: { now },
    logger: createLogger('silent', 'test'),
    metrics: new Metrics(),
    signal: new AbortController().signal,
  });
}

it('puts an attempt back that a dispatcher leaves again and again, but only once in 5 minutes', async () => {
  let nowMs = 1_000_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  let due = [aDueAttempt(1)];
  const appender = new FakeAppender();
  const reconciler = aReconciler(
    {
      suspects: () => Promise.resolve(due.map(suspectOf)),
      stillDue: (suspects) =>
        Promise.resolve({
          due: due.filter(({ delivery }) => suspects.some(({ deliveryId }) => deliveryId === delivery.deliveryId)),
          later: [],
        }),
    },
    appender,
    () => nowMs,
  );
  expect(await reconciler.round()).toEqual({ putBack: 1, isMore: true });
  nowMs += 20_000;
  due = [...due, aDueAttempt(2)];
  expect(await reconciler.round()).toEqual({ putBack: 1, isMore: true });
  expect(await reconciler.round()).toEqual({ putBack: 0, isMore: false });
  nowMs += 280_000;
  expect(await reconciler.round()).toEqual({ putBack: 1, isMore: true });
  expect(appender.records).toHaveLength(3);
});

it('ends a round after 30 s, and says that there is more to do', async () => {
  let nowMs = 1_000_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const due = [1, 2, 3].map((seq) => aDueAttempt(seq));
  const appender = new FakeAppender();
  const reconciler = aReconciler(
    {
      suspects: () => Promise.resolve(due.map(suspectOf)),
      stillDue: ([first, ...later]) => {
        nowMs += 16_000;
        return Promise.resolve({ due: due.filter(({ delivery }) => delivery.deliveryId === first?.deliveryId), later });
      },
    },
    appender,
    () => nowMs,
  );
  expect(await reconciler.round()).toEqual({ putBack: 2, isMore: true });
  expect(await reconciler.round()).toEqual({ putBack: 1, isMore: true });
  expect(appender.records).toHaveLength(3);
});
