import { describe, expect, it } from '@jest/globals';
import { EventCursors, type ApiKeyId, type OrgId, type Seq } from '#libs/domain';
import type { FeedQuery } from '#libs/postgres';
import type { AuditActor } from '#libs/postgres';
import { aFeedPage } from '../../../../test/support/feed-page.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { positionAfter, type FeedFollower } from '../events/feed-follower.js';
import { feedPageStream } from '../events/feed-page.presenter.js';
import { OpenStreams } from '../events/streams/open-streams.js';
import type { StreamPages } from '../events/streams/stream-pages.js';
import type { StreamPage } from '../events/streams/stream-room.js';
import { AgentFilters } from './agent-filters.js';
import { Exchange } from './exchange.js';
import { SharedSelections } from './shared-selections.js';
import { StreamEvents, type StreamMessage } from './stream-events.js';
import type { Subscriptions } from './subscription.js';

const ORG = '0d1c6f4e-0000-4000-8000-000000000001' as OrgId;
const cursors = new EventCursors([Buffer.alloc(32)]);
const at = (seq: number) => cursors.at(ORG, seq as Seq);
let released = 0;

/** A page with the events of these seqs, of a feed from `oldestSeq` to `headSeq`. */
function aPage(seqs: readonly number[], oldestSeq: number, headSeq: number): StreamPage {
  const envelopes = seqs.map((seq) =>
    JSON.stringify({ id: `evt_${seq}`, occurred_at: '2026-10-01T00:00:00Z', widget_id: null, data: { seq } }),
  );
  const bounds = { oldestSeq: oldestSeq as Seq, headSeq: headSeq as Seq, nextSeq: null };
  const page = aFeedPage({ ...bounds, envelopes, seqs });
  const release = () => {
    released++;
  };
  const held = seqs.length === 0 ? null : { text: feedPageStream(page), release };
  return { ...bounds, isEmpty: seqs.length === 0, held };
}

/** The messages of a stream that continues after seq 5, and whose reads give these pages; `null` is a beat. */
async function messagesOf(
  steps: readonly (StreamPage | null)[],
  {
    isInForce = true,
    begins = { since: 5 as Seq, isTruncated: false },
    filter = null as string | null,
    selections = new SharedSelections(new AgentFilters()),
  } = {},
): Promise<readonly StreamMessage[]> {
  const pages = { read: () => Promise.reject(new Error('not asked')) } as unknown as StreamPages;
  const follower = {
    async *follow(_: OrgId, asked: FeedQuery, read: (query: FeedQuery) => Promise<StreamPage>) {
      let checkedTo = asked.since;
      for (const step of steps) {
        if (step === null) yield { page: null, checkedTo };
        else {
          pages.read = () => Promise.resolve(step);
          const page = await read(asked);
          checkedTo = positionAfter(asked, page);
          if (!page.isEmpty) yield { page, checkedTo };
        }
      }
    },
  } as unknown as FeedFollower;
  const subscriptions = {
    begin: () => Promise.resolve({ query: { events: ['ticket.created'] }, filter, ...begins }),
  };
  const streams = new OpenStreams({ maxStreams: 1, maxStreamsPerKey: 1 });
  const begun = subscriptions as unknown as Subscriptions;
  const events = new StreamEvents(begun, follower, streams, pages, cursors, selections);
  const key = { id: 'gk_1' as ApiKeyId, quota: 'gk_1', orgId: ORG, scopes: [], expiresAt: null };
  const inForce = () => Promise.resolve(isInForce);
  const exchange = new Exchange(ORG, key, {} as AuditActor, inForce, new AbortController().signal);
  const messages: StreamMessage[] = [];
  for await (const message of events.stream(exchange, { name: 'ticket.created' })) messages.push(message);
  // The place is free again.
  streams.open(ORG, key.quota);
  return messages;
}

const short = ({ method, params }: StreamMessage) => [method.split('/').at(-1), params['cursor'], params['truncated']];

describe('a stream', () => {
  it('confirms first, then has each event with its cursor', async () => {
    released = 0;
    const messages = await messagesOf([aPage([6, 9], 1, 10)]);
    expect(messages.map(short)).toEqual([
      ['active', at(5), false],
      ['event', at(6), undefined],
      ['event', at(9), undefined],
    ]);
    expect(messages[1]?.params).toMatchObject({
      eventId: 'evt_6',
      name: 'ticket.created',
      timestamp: '2026-10-01T00:00:00Z',
      _meta: { 'gapless/seq': 6, 'gapless/untrusted': true },
    });
    expect(released).toBe(1);
  });

  it('has heartbeats with the position that it has checked, also when nothing matches', async () => {
    const messages = await messagesOf([null, aPage([], 1, 40), null]);
    expect(messages.map(short)).toEqual([
      ['active', at(5), false],
      ['heartbeat', at(5), undefined],
      ['heartbeat', at(40), undefined],
    ]);
  });

  it('has only events that its filter selects, and goes on past the others', async () => {
    const filter = 'event.data.seq >= 9';
    const messages = await messagesOf([aPage([6, 9], 1, 10), aPage([], 1, 40), null], { filter });
    expect(messages.map(short)).toEqual([
      ['active', at(5), false],
      ['event', at(9), undefined],
      ['heartbeat', at(40), undefined],
    ]);
  });

  it('evaluates its filter once for each event of a page, however many streams have the page and the filter', async () => {
    const evaluated: string[] = [];
    const parsed = new Set<Buffer>();
    const selects = (filter: string, envelope: Buffer) => {
      evaluated.push(`${filter} ${(JSON.parse(envelope.toString()) as { id: string }).id}`);
      parsed.add(envelope);
      return filter === 'all';
    };
    const selections = new SharedSelections({ selects } as unknown as AgentFilters);
    const page = aPage([6, 9], 1, 10);
    const streamed = (filter: string) => messagesOf([page], { filter, selections });
    const streams = await Promise.all(['all', 'none', 'all', 'none'].map(streamed));
    expect(streams.map((messages) => messages.length)).toEqual([3, 1, 3, 1]);
    expect(await streamed('all')).toHaveLength(3);
    expect(evaluated).toEqual(['all evt_6', 'none evt_6', 'all evt_9', 'none evt_9']);
    // Filters that keep the event that was parsed last know it by its buffer.
    expect(parsed.size).toBe(2);
  });

  it('lets other work run while many filters are evaluated', async () => {
    let turns = 0;
    const turn = setInterval(() => turns++, 0);
    const counted: number[] = [];
    const selects = () => {
      counted.push(turns);
      const until = performance.now() + 0.1;
      while (performance.now() < until);
      return false;
    };
    const selections = new SharedSelections({ selects } as unknown as AgentFilters);
    const page = aPage(oneTo(100), 1, 100);
    await Promise.all(oneTo(10).map((n) => messagesOf([page], { filter: `f${n}`, selections })));
    clearInterval(turn);
    expect(counted).toHaveLength(1_000);
    expect(new Set(counted).size).toBeGreaterThanOrEqual(8);
  });

  it('says that it begins after a gap', async () => {
    const messages = await messagesOf([], { begins: { since: 7 as Seq, isTruncated: true } });
    expect(messages.map(short)).toEqual([['active', at(7), true]]);
  });

  it('confirms again after a gap, before the next event', async () => {
    expect((await messagesOf([aPage([12], 12, 12)])).map(short)).toEqual([
      ['active', at(5), false],
      ['active', at(11), true],
      ['event', at(12), undefined],
    ]);
  });

  it('reports a gap after which nothing matches', async () => {
    expect((await messagesOf([aPage([], 12, 20), null])).map(short)).toEqual([
      ['active', at(5), false],
      ['active', at(11), true],
      ['heartbeat', at(20), undefined],
    ]);
  });

  it('ends once the key is revoked, and before events', async () => {
    released = 0;
    for (const next of [null, aPage([6], 1, 6)]) {
      const messages = await messagesOf([next, aPage([7], 1, 7)], { isInForce: false });
      expect(messages.map(short)).toEqual([
        ['active', at(5), false],
        ['terminated', undefined, undefined],
      ]);
      expect(messages[1]?.params['error']).toMatchObject({ code: -32_024, data: { reason: 'Access revoked' } });
    }
    expect(released).toBe(1);
  });
});
