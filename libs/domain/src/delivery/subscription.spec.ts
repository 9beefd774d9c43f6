import { describe, expect, it } from '@jest/globals';
import { parseEndpointId, parseWidgetId, type EventId } from '../kernel/index.js';
import type { EventFilters } from './event-filter.js';
import { isReceived, receptionOf, type Routable, type Subscriber } from './subscription.js';

const ID = parseEndpointId(`whe_${'A'.repeat(26)}`)!;
const OTHER_ID = parseEndpointId(`whe_${'B'.repeat(26)}`)!;
const WIDGET = parseWidgetId('11111111-1111-4111-8111-111111111111')!;

const ENDPOINT: Subscriber = { id: ID, isActive: true, events: ['ticket.created'], widgetIds: null };
const envelope = Buffer.from('{}');
const id = `evt_${'C'.repeat(26)}` as EventId;
const EVENT: Routable = { id, event: 'ticket.created', widgetId: null, targetEndpoint: null, envelope };
const TEST_EVENT: Routable = { ...EVENT, event: 'test', targetEndpoint: ID };
const EXAMPLE: Routable = { ...EVENT, id: `evt_EXAMPLE${'C'.repeat(26)}` as EventId, targetEndpoint: ID };

/** Knows the filters `true` and `false`. */
const FILTERS: EventFilters = {
  test: (filter) => {
    if (filter === 'true') return { kind: 'matches' };
    return filter === 'false' ? { kind: 'leaves_out' } : { kind: 'fails', reason: 'no answer' };
  },
};

function receives(endpoint: Subscriber, event: Routable): boolean {
  return isReceived(receptionOf(endpoint, event, FILTERS));
}

describe('receptionOf', () => {
  it('is so for an event type that the endpoint subscribes to', () => {
    expect(receives(ENDPOINT, EVENT)).toBe(true);
    expect(receives({ ...ENDPOINT, events: ['lead.created', 'ticket.created'] }, EVENT)).toBe(true);
  });

  it.each(['ticket.updated', 'ticket', 'ticket.created.x', 'test'])('is not so for %s', (event) => {
    expect(receives(ENDPOINT, { ...EVENT, event })).toBe(false);
  });

  it('is not so for an inactive endpoint', () => {
    expect(receives({ ...ENDPOINT, isActive: false }, EVENT)).toBe(false);
    expect(receives({ ...ENDPOINT, isActive: false }, TEST_EVENT)).toBe(false);
  });

  it('is not so out of the widget scope', () => {
    expect(receives({ ...ENDPOINT, widgetIds: [] }, { ...EVENT, widgetId: WIDGET })).toBe(false);
    expect(receives({ ...ENDPOINT, widgetIds: [WIDGET] }, { ...EVENT, widgetId: WIDGET })).toBe(true);
  });

  it('is so for an event without a widget, unless an exact scope names widgets', () => {
    const scoped = { ...ENDPOINT, widgetIds: [WIDGET] };
    expect(receives(scoped, EVENT)).toBe(true);
    expect(receives({ ...scoped, isExact: true }, EVENT)).toBe(false);
    expect(receives({ ...scoped, isExact: true }, { ...EVENT, widgetId: WIDGET })).toBe(true);
    expect(receives({ ...ENDPOINT, isExact: true }, EVENT)).toBe(true);
  });

  it('is so for a test of the endpoint, whatever it subscribes to', () => {
    expect(receives({ ...ENDPOINT, widgetIds: [] }, TEST_EVENT)).toBe(true);
  });

  it('is not so for a test of another endpoint', () => {
    expect(receives({ ...ENDPOINT, id: OTHER_ID, events: ['test', 'ticket.created'] }, TEST_EVENT)).toBe(false);
  });

  it('is so for an example for the endpoint, and not for one without a target, as a repair puts it back', () => {
    expect(receives(ENDPOINT, EXAMPLE)).toBe(true);
    expect(receives({ ...ENDPOINT, id: OTHER_ID }, EXAMPLE)).toBe(false);
    expect(receives(ENDPOINT, { ...EXAMPLE, targetEndpoint: null })).toBe(false);
  });

  it('leaves out an event for which the filter is false', () => {
    expect(receptionOf({ ...ENDPOINT, filter: 'false' }, EVENT, FILTERS)).toEqual({ kind: 'filtered' });
    expect(receptionOf({ ...ENDPOINT, filter: 'true' }, EVENT, FILTERS)).toEqual({ kind: 'received' });
  });

  it('is so for an event for which the filter has no answer', () => {
    const reception = receptionOf({ ...ENDPOINT, filter: 'a ==' }, EVENT, FILTERS);
    expect([reception, isReceived(reception)]).toEqual([{ kind: 'received_unfiltered', reason: 'no answer' }, true]);
  });

  it('is so for a test, whatever the filter is', () => {
    expect(receives({ ...ENDPOINT, filter: 'false' }, TEST_EVENT)).toBe(true);
  });
});
