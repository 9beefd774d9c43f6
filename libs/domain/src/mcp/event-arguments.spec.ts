import { describe, expect, it } from '@jest/globals';
import { readEventArguments } from './event-arguments.js';
import { EVENT_DESCRIPTORS, isEventName } from './event-descriptor.js';

const WIDGET = '0d1c6f4e-0000-4000-8000-000000000001';

describe('the arguments of a subscription', () => {
  it('may name a widget', () => {
    expect(readEventArguments('ticket.created', { widget_id: WIDGET.toUpperCase() })).toEqual({
      kind: 'valid',
      widgetId: WIDGET,
    });
  });

  it('may be empty', () => {
    expect(readEventArguments('fraud.flagged', {})).toEqual({ kind: 'valid', widgetId: undefined });
  });

  it.each([
    ['ticket.created', { widget_id: 'nonsense' }, 'widget_id must be a UUID.'],
    ['ticket.created', { widget_id: null }, 'widget_id must be a UUID.'],
    ['ticket.created', { colour: 'red' }, 'ticket.created has no argument "colour".'],
    ['fraud.flagged', { widget_id: WIDGET }, 'fraud.flagged has no argument "widget_id".'],
    ['ticket.created', JSON.parse('{"__proto__": 1}') as object, 'ticket.created has no argument "__proto__".'],
  ])('of %s are not %j', (name, given, detail) => {
    expect(readEventArguments(name, given as Record<string, unknown>)).toEqual({ kind: 'invalid', detail });
  });
});

describe('the list of event types', () => {
  it('has every type that occurs, and no other', () => {
    expect(isEventName('conversation.queued')).toBe(true);
    expect(isEventName('test')).toBe(true);
    expect(isEventName('lead.captured')).toBe(false);
    expect(isEventName('constructor')).toBe(false);
  });

  it('takes the arguments that are accepted', () => {
    for (const { name, inputSchema } of EVENT_DESCRIPTORS) {
      const given = Object.fromEntries(Object.keys(inputSchema['properties'] as object).map((key) => [key, WIDGET]));
      expect(readEventArguments(name, given).kind).toBe('valid');
    }
  });
});
