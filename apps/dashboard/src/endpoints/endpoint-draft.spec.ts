import { describe, expect, it } from '@jest/globals';
import { endpointChange, textOf, type EndpointDraft } from './endpoint-draft.js';

const INITIAL: EndpointDraft = {
  url: 'https://example.com/hook',
  name: ' CRM ',
  description: null,
  events: ['ticket.created', 'ticket.reply'],
  widget_ids: null,
};
const UNCHANGED: EndpointDraft = { ...INITIAL, name: 'CRM', events: ['ticket.reply', 'ticket.created'] };

describe('the change of an endpoint', () => {
  it('is empty until somebody changes something', () => {
    expect(endpointChange(UNCHANGED, INITIAL)).toEqual({});
  });

  it.each<Partial<EndpointDraft>>([
    { url: 'https://example.com/hooks' },
    { name: null },
    { description: 'Syncs the CRM' },
    { events: ['ticket.created'] },
    { widget_ids: [] },
  ])('has only the members that differ: %j', (change) => {
    expect(endpointChange({ ...UNCHANGED, ...change }, INITIAL)).toEqual(change);
  });

  it('gives back every widget', () => {
    expect(endpointChange(UNCHANGED, { ...INITIAL, widget_ids: [] })).toEqual({ widget_ids: null });
  });
});

describe('a text of the form', () => {
  it('is trimmed, and null if nothing is left', () => {
    expect(['  a b ', '  ', '', null].map(textOf)).toEqual(['a b', null, null, null]);
  });
});
