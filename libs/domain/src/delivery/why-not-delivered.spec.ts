import { describe, expect, it } from '@jest/globals';
import type { EventFilters } from './event-filter.js';
import type { EventId, Seq } from '../kernel/index.js';
import { whyNotDelivered, type AskedEvent, type EndpointVersion } from './why-not-delivered.js';

const SINCE = new Date(Date.UTC(2026, 5, 1, 12));

function aVersion(change: Partial<EndpointVersion> = {}): EndpointVersion {
  return { events: ['ticket.created'], isInScope: true, filter: null, inactiveSince: null, ...change };
}

function anEvent(change: Partial<AskedEvent> = {}): AskedEvent {
  const envelope = Buffer.from('{}');
  const id = `evt_${'A'.repeat(26)}` as EventId;
  return { id, event: 'ticket.created', widgetId: null, seq: 8 as Seq, appendedAt: SINCE, envelope, ...change };
}

const FILTERS: EventFilters = {
  test: (filter) =>
    filter === 'fails' ? { kind: 'fails', reason: '…' } : { kind: filter === 'true' ? 'matches' : 'leaves_out' },
};

describe('an endpoint without a delivery of an event', () => {
  it.each<[string, EndpointVersion, AskedEvent, object | undefined]>([
    ['should have one', aVersion(), anEvent(), undefined],
    [
      'is not the one that an example is for',
      aVersion(),
      anEvent({ id: 'evt_EXAMPLE1' as EventId }),
      { answer: 'not_subscribed' },
    ],
    ['wants other types', aVersion({ events: ['ticket.reply'] }), anEvent(), { answer: 'not_subscribed' }],
    ['is not the one that was tested', aVersion(), anEvent({ event: 'test' }), { answer: 'not_subscribed' }],
    ['wants other widgets', aVersion({ isInScope: false }), anEvent(), { answer: 'out_of_scope' }],
    ['filters it', aVersion({ filter: 'false' }), anEvent(), { answer: 'filtered', filter: 'false' }],
    ['has a filter that matches', aVersion({ filter: 'true' }), anEvent(), undefined],
    ['has a filter without an answer', aVersion({ filter: 'fails' }), anEvent(), undefined],
    ['was inactive', aVersion({ inactiveSince: SINCE }), anEvent(), { answer: 'inactive', since: SINCE }],
    [
      'is not said to be inactive for what it does not want',
      aVersion({ events: ['ticket.reply'], inactiveSince: SINCE }),
      anEvent(),
      { answer: 'not_subscribed' },
    ],
    [
      'is not said to be inactive for what it filters',
      aVersion({ filter: 'false', inactiveSince: SINCE }),
      anEvent(),
      { answer: 'filtered', filter: 'false' },
    ],
  ])('%s', (_case, version, event, expected) => {
    expect(whyNotDelivered(version, event, FILTERS)).toEqual(expected);
  });
});
