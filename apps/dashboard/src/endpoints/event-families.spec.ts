import { describe, expect, it } from '@jest/globals';
import type { EventType } from '../api/resources.js';
import { familiesOf, subscribableTypes } from './event-families.js';

function aType(event: EventType['event'], family: EventType['family'], more: Partial<EventType> = {}): EventType {
  return {
    event,
    family,
    description: '',
    scope: 'widget',
    deprecated: false,
    operational: false,
    subject: null,
    schema: {},
    example: {},
    ...more,
  };
}

const TYPES = [
  aType('ticket.created', 'ticket', { description: 'A ticket was opened.' }),
  aType('lead.created', 'visitor', { description: 'Contact info was submitted.' }),
  aType('ticket.reply', 'ticket', { description: 'An agent replied.' }),
  aType('lead.captured', 'visitor', { deprecated: true }),
  aType('test', 'test'),
];

describe('what an endpoint can subscribe to', () => {
  it('is neither test nor what is never emitted', () => {
    expect(subscribableTypes(TYPES).map(({ event }) => event)).toEqual([
      'ticket.created',
      'lead.created',
      'ticket.reply',
    ]);
  });
});

describe('event types by family', () => {
  const names = (search: string) =>
    familiesOf(TYPES, search).map(({ family, types }) => [family, ...types.map(({ event }) => event)]);

  it('keep the order of the catalog', () => {
    expect(names('').slice(0, 2)).toEqual([
      ['ticket', 'ticket.created', 'ticket.reply'],
      ['visitor', 'lead.created', 'lead.captured'],
    ]);
  });

  it('are found by words of their name, description or family, whatever their case', () => {
    expect(names('AGENT ticket')).toEqual([['ticket', 'ticket.reply']]);
    expect(names('leads contact')).toEqual([['visitor', 'lead.created']]);
    expect(names('nothing of that kind')).toEqual([]);
  });
});
