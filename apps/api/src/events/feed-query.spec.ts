import { describe, expect, it } from '@jest/globals';
import { GaplessError } from '#libs/domain';
import { parseFeedQuery } from './feed-query.js';

const WIDGET = '0b5fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001';

function refusal(query: Readonly<Record<string, unknown>>): GaplessError {
  try {
    parseFeedQuery(query);
  } catch (error) {
    if (error instanceof GaplessError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('the query of the feed', () => {
  it('begins at the start of retention with 100 events, when nothing is asked for', () => {
    expect(parseFeedQuery({})).toEqual({ query: { since: 0, limit: 100 }, hasSince: false, waitSeconds: 0 });
    expect(parseFeedQuery({ since: '', limit: '', event: '', widget_id: '', wait: '' })).toEqual(parseFeedQuery({}));
  });

  it('is read', () => {
    const query = { since: '4127', limit: '1000', event: 'test', widget_id: WIDGET.toUpperCase(), wait: '30' };
    expect(parseFeedQuery(query)).toEqual({
      query: { since: 4127, limit: 1000, events: ['test'], widgetId: WIDGET },
      hasSince: true,
      waitSeconds: 30,
    });
  });

  it.each(['1e3', '0x10', '-0', '+1', '01', '1.0', ' 1', '1 ', 'abc', 'NaN', 'Infinity', '١'])(
    'cannot be read when a number is %p',
    (text) => {
      expect(refusal({ since: text }).code).toBe('malformed_request');
      expect(refusal({ limit: text }).problems).toMatchObject([{ pointer: '#/limit' }]);
    },
  );

  it.each([
    { limit: '0' },
    { limit: '1001' },
    { limit: '-1' },
    { wait: '0' },
    { wait: '31' },
    { since: '-1' },
    { since: '9007199254740992' },
    { since: '99999999999999999999999999' },
  ])('is out of range with %p', (query) => {
    expect(refusal(query)).toMatchObject({ code: 'validation_failed', problems: [{ code: 'out_of_range' }] });
  });

  it('accepts the largest integer there is', () => {
    expect(parseFeedQuery({ since: '9007199254740991' }).query.since).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('refuses unknown and repeated parameters, each with its pointer', () => {
    expect(refusal({ sinse: '1', limit: ['1', '2'] })).toMatchObject({
      code: 'validation_failed',
      problems: [
        { pointer: '#/sinse', code: 'unknown_parameter' },
        { pointer: '#/limit', code: 'repeated' },
      ],
    });
  });

  it('filters by a type of the catalog alone', () => {
    expect(refusal({ event: 'ticket.exploded' }).code).toBe('unknown_event_type');
    expect(refusal({ event: 'constructor' }).code).toBe('unknown_event_type');
    expect(parseFeedQuery({ event: 'lead.captured' }).query.events).toEqual(['lead.captured']);
  });

  it('may name several types', () => {
    const event = ['ticket.reply', 'test', 'ticket.reply', ''];
    expect(parseFeedQuery({ event }).query.events).toEqual(['ticket.reply', 'test']);
    expect(refusal({ event: ['test', 'ticket.exploded'] }).code).toBe('unknown_event_type');
  });

  it('may look back, but not wait then', () => {
    expect(parseFeedQuery({ until: '9', order: 'desc' }).query).toEqual({
      since: 0,
      limit: 100,
      until: 9,
      isDescending: true,
    });
    expect(parseFeedQuery({ order: 'asc' })).toEqual(parseFeedQuery({}));
    expect(refusal({ order: 'newest' }).problems).toMatchObject([{ pointer: '#/order', code: 'not_allowed' }]);
    for (const query of [{ until: '9' }, { order: 'desc' }]) {
      expect(refusal({ ...query, wait: '1' }).problems).toMatchObject([{ pointer: '#/wait', code: 'not_allowed' }]);
    }
  });

  it('cannot read a widget that is not a UUID', () => {
    expect(refusal({ widget_id: 'w1' })).toMatchObject({
      code: 'malformed_request',
      problems: [{ pointer: '#/widget_id' }],
    });
  });
});
