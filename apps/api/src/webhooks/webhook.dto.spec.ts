import { describe, expect, it } from '@jest/globals';
import { GaplessError } from '#libs/domain';
import { readDto } from '../http/json-body.decorator.js';
import { CreateWebhookDto, deliveryChangesOf, widgetIdsOf } from './webhook.dto.js';

const WIDGET = '0b5fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001';
const MINIMAL = { url: 'https://example.com/hook', events: ['ticket.created'] };

function read(body: unknown): CreateWebhookDto {
  return readDto(Buffer.from(JSON.stringify(body)), CreateWebhookDto);
}

function refusal(body: unknown): GaplessError {
  try {
    read(body);
  } catch (error) {
    if (error instanceof GaplessError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('the body that registers an endpoint', () => {
  it('needs a url and events alone', () => {
    expect(read(MINIMAL)).toMatchObject(MINIMAL);
    expect(refusal({})).toMatchObject({
      code: 'validation_failed',
      problems: [
        { pointer: '#/url', code: 'required' },
        { pointer: '#/events', code: 'required' },
      ],
    });
  });

  it('may give null for what is optional', () => {
    expect(read({ ...MINIMAL, name: null, description: null, widget_ids: null }).name).toBeNull();
  });

  it.each([
    [{ url: 1 }, '#/url', 'wrong_type'],
    [{ url: null }, '#/url', 'wrong_type'],
    [{ events: 'ticket.created' }, '#/events', 'wrong_type'],
    [{ events: [] }, '#/events', 'out_of_range'],
    [{ events: ['ticket.created', 7] }, '#/events/1', 'wrong_type'],
    [{ events: ['ticket.created', 'lead.created', 'ticket.created'] }, '#/events/2', 'not_allowed'],
    [{ name: 'n'.repeat(121) }, '#/name', 'out_of_range'],
    [{ name: 7 }, '#/name', 'wrong_type'],
    [{ name: 'a\u0000b' }, '#/name', 'invalid_format'],
    [{ name: '\ud800' }, '#/name', 'invalid_format'],
    [{ description: 'd'.repeat(1_001) }, '#/description', 'out_of_range'],
    [{ widget_ids: WIDGET }, '#/widget_ids', 'wrong_type'],
    [{ widget_ids: [WIDGET, 'w'] }, '#/widget_ids/1', 'invalid_format'],
    [{ widget_ids: [null] }, '#/widget_ids/0', 'wrong_type'],
    [{ widget_ids: Array.from({ length: 1_001 }, () => WIDGET) }, '#/widget_ids', 'out_of_range'],
    [{ urgent: 'ticket.created' }, '#/urgent', 'wrong_type'],
    [{ urgent: ['ticket.created', 'ticket.created'] }, '#/urgent/1', 'not_allowed'],
    [{ ordering: {} }, '#/ordering/by', 'required'],
    [{ ordering: { by: 'none', batch: 2 } }, '#/ordering/batch', 'not_allowed'],
    [{ is_active: false }, '#/is_active', 'unknown_member'],
  ])('is refused with %p', (change, pointer, code) => {
    expect(refusal({ ...MINIMAL, ...change })).toMatchObject({
      code: 'validation_failed',
      problems: [{ pointer, code }],
    });
  });

  it.each(['nope', 'test', 'constructor'])('is refused as unknown_event_type when it subscribes to %s', (type) => {
    expect(refusal({ ...MINIMAL, events: ['ticket.created', type] })).toMatchObject({
      code: 'unknown_event_type',
      problems: [{ pointer: '#/events/1' }],
    });
  });

  it('names urgent types of the catalog, none or the usual ones', () => {
    const urgentOf = (urgent: unknown) => deliveryChangesOf(read({ ...MINIMAL, urgent })).settings;
    expect([['ticket.sla_breach'], [], null].map(urgentOf)).toEqual([
      { urgent: ['ticket.sla_breach'] },
      { urgent: [] },
      { urgent: null },
    ]);
    expect(refusal({ ...MINIMAL, urgent: ['ticket.none'] })).toMatchObject({
      code: 'unknown_event_type',
      problems: [{ pointer: '#/urgent/0' }],
    });
  });

  it('may subscribe to lead.captured, which yields nothing', () => {
    expect(read({ ...MINIMAL, events: ['lead.captured'] }).events).toEqual(['lead.captured']);
  });

  it('counts characters and not code units', () => {
    expect(read({ ...MINIMAL, name: '🎉'.repeat(120) }).name).toHaveLength(240);
  });

  it('names each widget once, in lower case; null stays null and [] stays []', () => {
    expect(widgetIdsOf([WIDGET.toUpperCase(), WIDGET])).toEqual([WIDGET]);
    expect(widgetIdsOf(undefined)).toBeNull();
    expect(widgetIdsOf(null)).toBeNull();
    expect(widgetIdsOf([])).toEqual([]);
  });
});
