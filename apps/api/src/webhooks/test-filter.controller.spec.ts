import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { envelopeBytes, type EventFilters, type Seq } from '#libs/domain';
import type { FeedItem, FeedReader } from '#libs/postgres';
import { anEventId, anOrgId } from '../../../../test/support/ids.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { TestFilterController } from './test-filter.controller.js';

const ORG = anOrgId();
const OCCURRED_AT = '2026-06-01T12:00:00.000Z';
const KIB = 1024;

function anItem(seq: number, bytes: number): FeedItem {
  const parts = { id: anEventId(), seq: seq as Seq, event: 'ticket.created', occurredAt: OCCURRED_AT, orgId: ORG };
  const dataJson = JSON.stringify({ text: 'x'.repeat(bytes) });
  const envelope = envelopeBytes({ ...parts, widgetId: null, dataJson }).toString();
  return { seq: parts.seq, event: parts.event, envelope };
}

/** Tests a filter with events. @returns the answer, and the most events that were tested before other work ran */
async function test(items: readonly FeedItem[]) {
  const state = { tested: 0, isDone: false };
  const filters: EventFilters = {
    test: () => {
      state.tested++;
      return { kind: 'matches' };
    },
  };
  const feed = { page: () => Promise.resolve({ items, nextSeq: null }) };
  const controller = new TestFilterController(feed as unknown as FeedReader, filters, { now: () => 0 });
  const testing = controller.test(ORG, { filter: 'true' }).finally(() => {
    state.isDone = true;
  });
  let most = 0;
  while (!state.isDone) {
    const before = state.tested;
    await setImmediate();
    most = Math.max(most, state.tested - before);
  }
  return { ...(await testing).data, most };
}

describe('the test of a filter', () => {
  it('lets other work run after some events, and after some bytes of them', async () => {
    const small = await test(oneTo(25).map((seq) => anItem(seq, 1)));
    expect([small.tested, small.most]).toEqual([25, 10]);
    const large = await test(oneTo(9).map((seq) => anItem(seq, 100 * KIB)));
    expect([large.tested, large.most]).toEqual([9, 2]);
    const largest = await test(oneTo(3).map((seq) => anItem(seq, 300 * KIB)));
    expect([largest.tested, largest.most]).toEqual([3, 1]);
  });

  it('names each event', async () => {
    const item = anItem(7, 1);
    const { id } = JSON.parse(item.envelope) as { id: string };
    expect((await test([item])).events).toEqual([
      { id, seq: 7, event: 'ticket.created', occurred_at: OCCURRED_AT, result: 'matched', reason: null },
    ]);
  });
});
