import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { EventCursors, type OrgId, type Seq } from '#libs/domain';
import type { AuditActor } from '#libs/postgres';
import { oneTo } from '../../../../test/support/sequence.js';
import type { AuthenticatedKey } from '../auth/authenticated-key.js';
import type { SharedReads } from '../events/shared-reads.js';
import { AgentFilters } from './agent-filters.js';
import { Exchange } from './exchange.js';
import { PollEvents } from './poll-events.js';
import type { Subscriptions } from './subscription.js';

const ORG = '0d1c6f4e-0000-4000-8000-000000000001' as OrgId;

/** Polls of an org, each of which goes on when it is let. */
function polls() {
  const begun: (() => void)[] = [];
  const begin = () =>
    new Promise((resolve) => {
      begun.push(() => {
        resolve({
          query: { events: ['ticket.created'] },
          filter: null,
          since: 5 as Seq,
          isTruncated: false,
          isNew: true,
        });
      });
    });
  const events = new PollEvents(
    { begin } as unknown as Subscriptions,
    {} as SharedReads,
    new EventCursors([Buffer.alloc(32)]),
    new AgentFilters(),
  );
  const poll = () => {
    const client = new AbortController();
    const leave = () => {
      client.abort();
    };
    const inForce = () => Promise.resolve(true);
    const exchange = new Exchange(ORG, {} as AuthenticatedKey, {} as AuditActor, inForce, client.signal);
    const polled = events.poll(exchange, { name: 'ticket.created' });
    return { exchange, polled, leave };
  };
  return { begun, poll };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

describe('polls of an organization', () => {
  it('take turns until they are printed', async () => {
    const { begun, poll } = polls();
    const [first] = [poll(), poll()];
    await settled();
    begun[0]?.();
    expect(await first.polled).toMatchObject({ events: [], hasMore: false });
    await settled();
    expect(begun).toHaveLength(1);
    first.exchange.end();
    await settled();
    expect(begun).toHaveLength(2);
  });

  it('wait for one whose client has left until it is made, and do not begin once theirs have left', async () => {
    const { begun, poll } = polls();
    const [first, second] = [poll(), poll(), poll()];
    await settled();
    first.leave();
    second.leave();
    await settled();
    expect(begun).toHaveLength(1);
    begun[0]?.();
    await settled();
    // The second is left out, and the third has begun.
    expect(begun).toHaveLength(2);
    expect(await second.polled).toEqual({});
    begun[1]?.();
    await settled();
    expect(begun).toHaveLength(2);
  });

  it('are refused while too many wait, until one of their clients leaves', async () => {
    const { begun, poll } = polls();
    const refusal = { code: 'rate_limited', options: { limit: 'polls', retryAfterSeconds: 1 } };
    const first = poll();
    const waiting = oneTo(100).map(() => poll());
    await expect(poll().polled).rejects.toMatchObject(refusal);
    // The first one goes on, and the place is free at once.
    waiting[0]?.leave();
    expect(await waiting[0]?.polled).toEqual({});
    const next = poll();
    await expect(poll().polled).rejects.toMatchObject(refusal);
    for (const one of waiting) one.leave();
    begun[0]?.();
    await first.polled;
    first.exchange.end();
    await settled();
    begun[1]?.();
    expect(await next.polled).toMatchObject({ events: [], hasMore: false });
  });
});
