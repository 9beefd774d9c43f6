import { describe, expect, it } from '@jest/globals';
import type { EventFilters } from './event-filter.js';
import type { EndpointId, EventId, Seq, WidgetId } from '../kernel/index.js';
import { whyNotDelivered, type AskedEvent, type EndpointHistory, type StoredInactivity } from './why-not-delivered.js';

const at = (second: number) => new Date(Date.UTC(2026, 5, 1, 12, 0, second));
const WIDGET = '0f8fad5b-d9cb-469f-a165-70867728950e' as WidgetId;

function anEndpoint(change: Partial<EndpointHistory> = {}): EndpointHistory {
  return {
    id: `whe_${'E'.repeat(26)}` as EndpointId,
    isActive: true,
    events: ['ticket.created'],
    widgetIds: null,
    createdAt: at(10),
    receivesAfterSeq: 5 as Seq,
    subscriptionChangedAt: null,
    inactivity: [],
    ...change,
  };
}

function anEvent(change: Partial<AskedEvent> = {}): AskedEvent {
  const envelope = Buffer.from('{}');
  const id = `evt_${'A'.repeat(26)}` as EventId;
  return { id, event: 'ticket.created', widgetId: null, seq: 8 as Seq, appendedAt: at(20), envelope, ...change };
}

const FILTERS: EventFilters = {
  test: (filter) =>
    filter === 'fails' ? { kind: 'fails', reason: '…' } : { kind: filter === 'true' ? 'matches' : 'leaves_out' },
};

const inactive = (
  beganAt: number,
  endedAt: number | null,
  change: Partial<StoredInactivity> = {},
): StoredInactivity => ({
  beganAt: at(beganAt),
  beganAfterSeq: null,
  endedAt: endedAt === null ? null : at(endedAt),
  endedAfterSeq: null,
  ...change,
});

describe('an endpoint without a delivery of an event', () => {
  it.each<[string, EndpointHistory, AskedEvent, string]>([
    ['is waiting for it', anEndpoint(), anEvent(), 'pending'],
    ['came later, by seq', anEndpoint(), anEvent({ seq: 5 as Seq }), 'not_yet_created'],
    ['came later, by time', anEndpoint(), anEvent({ appendedAt: at(9) }), 'not_yet_created'],
    [
      'is not the one that an example is for',
      anEndpoint(),
      anEvent({ id: 'evt_EXAMPLE1' as EventId }),
      'not_subscribed',
    ],
    ['wants other types', anEndpoint({ events: ['ticket.reply'] }), anEvent(), 'not_subscribed'],
    ['is not the one that was tested', anEndpoint(), anEvent({ event: 'test' }), 'not_subscribed'],
    ['wants other widgets', anEndpoint({ widgetIds: [] }), anEvent({ widgetId: WIDGET }), 'out_of_scope'],
    ['gets org-wide events all the same', anEndpoint({ widgetIds: [] }), anEvent(), 'pending'],
    ['filters it', anEndpoint({ filter: 'false' }), anEvent(), 'filtered'],
    ['has a filter that matches', anEndpoint({ filter: 'true' }), anEvent(), 'pending'],
    ['has a filter without an answer', anEndpoint({ filter: 'fails' }), anEvent(), 'pending'],
    ['subscribed later', anEndpoint({ subscriptionChangedAt: at(25) }), anEvent(), 'not_subscribed'],
    ['subscribed before', anEndpoint({ subscriptionChangedAt: at(15) }), anEvent(), 'pending'],
    ['is inactive', anEndpoint({ inactivity: [inactive(15, null)] }), anEvent(), 'inactive'],
    ['became inactive later', anEndpoint({ inactivity: [inactive(25, null)] }), anEvent(), 'pending'],
    ['was inactive', anEndpoint({ inactivity: [inactive(15, 25)] }), anEvent(), 'inactive'],
    ['was inactive before', anEndpoint({ inactivity: [inactive(12, 15)] }), anEvent(), 'pending'],
    [
      'was inactive by seq, whatever the clocks say',
      anEndpoint({ inactivity: [inactive(21, 22, { beganAfterSeq: 7 as Seq, endedAfterSeq: 8 as Seq })] }),
      anEvent(),
      'inactive',
    ],
    [
      'is not said to be inactive for what it does not want',
      anEndpoint({ events: ['ticket.reply'], inactivity: [inactive(15, null)] }),
      anEvent(),
      'not_subscribed',
    ],
  ])('%s', (_case, endpoint, event, answer) => {
    expect(whyNotDelivered(endpoint, event, FILTERS)).toMatchObject({ answer });
  });

  it('says since when it is inactive', () => {
    const endpoint = anEndpoint({ inactivity: [inactive(12, 15), inactive(18, null)] });
    expect(whyNotDelivered(endpoint, anEvent(), FILTERS)).toEqual({ answer: 'inactive', since: at(18) });
  });
});
