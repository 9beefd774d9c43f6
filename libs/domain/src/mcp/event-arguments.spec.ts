import { describe, expect, it } from '@jest/globals';
import { readEventArguments } from './event-arguments.js';
import { EVENT_DESCRIPTORS, isEventName, WEBHOOK_EVENT_NAMES } from './event-descriptor.js';

const WIDGET = '0d1c6f4e-0000-4000-8000-000000000001';

describe('the arguments of a subscription', () => {
  it('may name a widget', () => {
    expect(readEventArguments('ticket.created', { widget_id: WIDGET.toUpperCase() })).toEqual({
      kind: 'valid',
      widgetId: WIDGET,
    });
  });

  it('may be empty', () => {
    expect(readEventArguments('fraud.flagged', {})).toEqual({ kind: 'valid' });
  });

  it('may name a subject and a filter', () => {
    const given = { subject: 'tkt_1', filter: 'event.data.priority == "high"' };
    expect(readEventArguments('ticket.created', given)).toEqual({ kind: 'valid', ...given });
  });

  it.each([
    ['ticket.created', { widget_id: 'nonsense' }, 'widget_id must be a UUID.'],
    ['ticket.created', { widget_id: null }, 'widget_id must be a UUID.'],
    ['ticket.created', { subject: '' }, 'subject must be an id of 1 to 120 characters.'],
    ['ticket.created', { subject: 5120 }, 'subject must be an id of 1 to 120 characters.'],
    ['ticket.created', { subject: 'a\u0000b' }, 'subject must be an id of 1 to 120 characters.'],
    ['ticket.created', { subject: '\ud800' }, 'subject must be an id of 1 to 120 characters.'],
    ['ticket.created', { subject: 'x'.repeat(121) }, 'subject must be an id of 1 to 120 characters.'],
    ['help_article.reordered', { subject: 'art_1' }, 'help_article.reordered has no argument "subject".'],
    ['ticket.created', { filter: ['true'] }, 'filter must be an expression of 1 to 1500 characters.'],
    ['ticket.created', { filter: 'true // \u0000' }, 'filter must be an expression of 1 to 1500 characters.'],
    ['ticket.created', { filter: 'true // \ud800' }, 'filter must be an expression of 1 to 1500 characters.'],
    ['ticket.created', { filter: ' '.repeat(1_501) }, 'filter must be an expression of 1 to 1500 characters.'],
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

  it('offers webhooks for every type but test events, which are pushed to one endpoint alone', () => {
    const offered = EVENT_DESCRIPTORS.map(({ name, delivery }) => [name, delivery.join()]);
    expect(offered.filter(([, delivery]) => delivery !== 'poll,push,webhook')).toEqual([['test', 'poll,push']]);
    expect(EVENT_DESCRIPTORS.map(({ name }) => name).filter((name) => !WEBHOOK_EVENT_NAMES.includes(name))).toEqual([
      'test',
    ]);
  });

  it('takes the arguments that are accepted', () => {
    for (const { name, inputSchema } of EVENT_DESCRIPTORS) {
      const given = Object.fromEntries(Object.keys(inputSchema['properties'] as object).map((key) => [key, WIDGET]));
      expect(readEventArguments(name, given).kind).toBe('valid');
      expect(inputSchema['additionalProperties']).toBe(false);
    }
  });
});
