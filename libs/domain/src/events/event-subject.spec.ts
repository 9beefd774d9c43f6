import { describe, expect, it } from '@jest/globals';
import { CATALOG } from './catalog.js';
import { subjectOf } from './event-subject.js';

const exampleOf = (type: string) => CATALOG.find(({ event }) => event === type)?.example;

describe('the subject of an event', () => {
  it.each(CATALOG.filter(({ subject }) => subject !== null).map(({ event, example }) => [event, example] as const))(
    'of type %s is where the catalog says',
    (event, example) => {
      expect(subjectOf(event, example)).toMatch(/^[a-z]+_/);
    },
  );

  it('is the same for all types about one thing', () => {
    expect(subjectOf('ticket.reply', exampleOf('ticket.reply'))).toBe(
      subjectOf('ticket.created', exampleOf('ticket.created')),
    );
  });

  it('may be a number', () => {
    expect(subjectOf('ticket.updated', { id: 5120 })).toBe('5120');
  });

  it.each([
    ['is missing', { ticket: 1 }],
    ['is empty', { id: '' }],
    ['is longer than 200 characters', { id: 'x'.repeat(201) }],
    ['is no text', { id: { id: 'x' } }],
    ['is inherited', Object.create({ id: 'x' })],
    ['has no payload', null],
  ])('is null if it %s', (_case, data) => {
    expect(subjectOf('ticket.updated', data)).toBeNull();
  });

  it('is null for types without one, and for unknown types', () => {
    expect(subjectOf('help_article.reordered', { id: 'x' })).toBeNull();
    expect(subjectOf('constructor', { id: 'x' })).toBeNull();
  });
});
