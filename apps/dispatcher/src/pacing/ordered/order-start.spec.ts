import { beforeEach, expect, it } from '@jest/globals';
import { NO_ORDERING, type EndpointId } from '#libs/domain';
import type { PacedEndpoint } from '#libs/postgres';
import { aDueAttempt, anEndpointId } from '../../../../../test/support/due-attempts.js';
import { OrderStarts } from './order-start.js';

const endpointId = anEndpointId();
const endpoint: PacedEndpoint = {
  id: endpointId,
  orgId: aDueAttempt().delivery.orgId,
  maxPerSecond: null,
  maxInFlight: null,
  ordering: NO_ORDERING,
  orderedSinceMs: 77,
  isOrderBegun: false,
};
const positionOf = (offset: number) => new Map([[0, offset]]);

let nowMs: number;
let [logEnd, routedTo, factsEnd, projectedTo] = [0, 0, 0, 0];
let withoutLane: ReadonlySet<EndpointId>;
/** The orders that are stored as begun. */
let begun: unknown[];
let starts: OrderStarts;

beforeEach(() => {
  nowMs = 0;
  [logEnd, routedTo, factsEnd, projectedTo] = [10, 8, 20, 15];
  withoutLane = new Set([endpointId]);
  begun = [];
  starts = new OrderStarts({
    deliveries: { withoutLane: () => Promise.resolve(withoutLane) },
    endpoints: {
      orderBegins: (all) => {
        begun.push(...all);
        return Promise.resolve();
      },
    },
    routed: () => Promise.resolve({ ends: positionOf(logEnd), routedTo: positionOf(routedTo) }),
    factsEnd: () => Promise.resolve(positionOf(factsEnd)),
    projectedTo: () => Promise.resolve(positionOf(projectedTo)),
    partitionOfOrg: () => 0,
    partitionOf: () => 0,
    attemptMs: 10_000,
    nowMs: () => nowMs,
  });
});

it('an endpoint whose order has begun goes on at once', () => {
  expect(starts.begin(endpoint, true).isReady).toBe(true);
});

it('another one begins once everything from before is routed, over, projected and attempted', async () => {
  const start = starts.begin(endpoint, false);
  const isReadyAt = async (atMs: number) => {
    nowMs = atMs;
    await starts.advance([start]);
    return start.isReady;
  };
  expect(await isReadyAt(20_000)).toBe(false);
  // Later events are routed with the order.
  [logEnd, routedTo, factsEnd] = [99, 10, 30];
  expect(await isReadyAt(21_000)).toBe(false);
  [factsEnd, projectedTo] = [99, 30];
  expect(await isReadyAt(22_000)).toBe(false);
  [projectedTo, withoutLane] = [29, new Set()];
  expect(await isReadyAt(23_000)).toBe(false);
  expect(begun).toEqual([]);
  projectedTo = 30;
  expect(await isReadyAt(24_000)).toBe(true);
  expect(begun).toEqual([{ id: endpointId, orderedSinceMs: 77 }]);
});

it('another one waits for attempts that began before, however far the rest is', async () => {
  const start = starts.begin(endpoint, false);
  [routedTo, projectedTo, withoutLane] = [10, 20, new Set()];
  nowMs = 11_249;
  await starts.advance([start]);
  expect(start.isReady).toBe(false);
  nowMs = 11_750;
  await starts.advance([start]);
  expect(start.isReady).toBe(true);
});
