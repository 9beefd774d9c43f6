import { describe, expect, it } from '@jest/globals';
import { CATALOG } from '../events/index.js';
import { MAX_FILTER_LENGTH } from '../delivery/index.js';
import { MAX_FILTER, MAX_SUBJECT, subjectPath, subscriptionFilter } from './subscription-filter.js';

describe('the filter of a subscription', () => {
  it('is what its arguments say', () => {
    expect(subscriptionFilter('ticket.created', {})).toBeNull();
    expect(subscriptionFilter('ticket.created', { filter: 'true' })).toBe('true');
    expect(subscriptionFilter('ticket.created', { subject: 'tkt_"1' })).toBe(
      String.raw`has(event.data.id) && event.data.id == "tkt_\"1"`,
    );
    expect(subscriptionFilter('ticket.reply', { subject: 'tkt_1', filter: 'a || b // why' })).toBe(
      'has(event.data.ticket) && has(event.data.ticket.id) && event.data.ticket.id == "tkt_1" && (a || b // why\n)',
    );
  });

  it('is never too long', () => {
    const given = { subject: '"'.repeat(MAX_SUBJECT), filter: 'x'.repeat(MAX_FILTER) };
    for (const { event, subject } of CATALOG) {
      if (subject !== null) expect(subscriptionFilter(event, given)?.length).toBeLessThan(MAX_FILTER_LENGTH);
    }
  });
});

describe('the subject of a type', () => {
  it('is where its example has an id', () => {
    for (const { event, subject, example } of CATALOG) {
      if (subject === null) continue;
      const at = subject.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], example);
      expect([event, at]).toEqual([event, expect.any(String)]);
    }
  });

  it('is not there for orders of several things, and unknown types', () => {
    const without = CATALOG.filter(({ subject }) => subject === null).map(({ event }) => event);
    expect(without).toEqual(['help_collection.reordered', 'help_category.reordered', 'help_article.reordered']);
    expect(subjectPath('constructor')).toBeNull();
  });
});
