import { expect, it } from '@jest/globals';
import { DEFAULT_LIVE_CHAT_SETTINGS, foldConversation, type EventId } from '#libs/domain';
import type { AlertClaim, AlertClaims } from '#libs/postgres';
import { createLogger } from '#libs/runtime';
import { Metrics } from '#libs/telemetry';
import { handedOff, HANDED_OFF_AT_MS } from '../../../test/support/conversations.js';
import type { AlertPublisher, StaffAlertBounds } from './alert-publisher.js';
import type { CaughtUpPartitions } from './caught-up-partitions.js';
import { Sweep } from './sweep.js';

/** The partition is caught up. */
const caughtUp = {
  find: () =>
    (async function* () {
      yield await Promise.resolve([0]);
    })(),
} as unknown as CaughtUpPartitions;

/** A sweep of a partition where chats are due however many it has alerted to. */
function aSweepWithoutEnd(published: (before: StaffAlertBounds) => void): Sweep {
  let raised = 0;
  return new Sweep({
    caughtUp,
    claims: {
      due: (_partitions: readonly number[], _nowMs: number, limit: number) => {
        const waiting = Array.from(
          { length: limit },
          (_, nth) => foldConversation(undefined, handedOff({ conversation: nth, seq: nth }), null).waiting!,
        );
        const queue = { depth: limit, waiting };
        return Promise.resolve({
          queues: [{ partition: 0, queue, settings: DEFAULT_LIVE_CHAT_SETTINGS }],
          full: [0],
        });
      },
      claim: (claims: readonly AlertClaim[]) => {
        raised += claims.length;
        return Promise.resolve(new Set(claims.flatMap(({ alerts }) => alerts.map(({ eventId }) => eventId))));
      },
    } as unknown as AlertClaims,
    publisher: {
      staffAlertBounds: () => Promise.resolve(new Map([[0, { begin: 0, end: raised }]])),
      publish: (_partitions: readonly number[], events: ReadonlySet<EventId>, before: StaffAlertBounds) => {
        published(before);
        return Promise.resolve({ count: events.size, failures: new Map() });
      },
    } as unknown as AlertPublisher,
    mails: false,
    clock: { now: () => HANDED_OFF_AT_MS + 60_000 },
    logger: createLogger('silent', 'test'),
    metrics: new Metrics(),
  });
}

it('ends after the present batch when the process ends, and leaves the rest to others', async () => {
  const ending = new AbortController();
  let batches = 0;
  const sweep = aSweepWithoutEnd(() => {
    if (++batches === 3) ending.abort();
  });
  expect(await sweep.round({ signal: ending.signal })).toMatchObject({ raised: 1_500, published: 1_500, left: [0] });
});

it('looks where the staff alerts end before it raises others, which another process can publish at once', async () => {
  const ends: unknown[] = [];
  const sweep = aSweepWithoutEnd((before) => {
    ends.push(before.get(0)?.end);
  });
  await sweep.round({ batches: 2 });
  expect(ends).toEqual([0, 500]);
});

it('raises the alerts of a partition again after the clock was set back, up to an earlier time than before', async () => {
  let nowMs = HANDED_OFF_AT_MS + 3_600_000;
  const raisedTo: number[] = [];
  const sweep = new Sweep({
    caughtUp,
    claims: {
      due: (_partitions: readonly number[], atMs: number) => {
        raisedTo.push(atMs);
        return Promise.resolve({ queues: [], full: [] });
      },
      claim: () => Promise.resolve(new Set()),
    } as unknown as AlertClaims,
    publisher: { publish: () => Promise.resolve({ count: 0, failures: new Map() }) } as unknown as AlertPublisher,
    mails: false,
    clock: { now: () => nowMs },
    logger: createLogger('silent', 'test'),
    metrics: new Metrics(),
  });
  const among = new Set([0]);
  await sweep.round({ among });
  await sweep.round({ among });
  nowMs = HANDED_OFF_AT_MS;
  await sweep.round({ among });
  await sweep.round({ among });
  expect(raisedTo).toEqual([HANDED_OFF_AT_MS + 3_600_000, HANDED_OFF_AT_MS]);
});
