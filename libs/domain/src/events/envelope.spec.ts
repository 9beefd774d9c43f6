import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseEventId, parseOrgId, parseWidgetId, type Seq } from '../kernel/index.js';
import { envelopeBytes, type EnvelopeParts } from './envelope.js';

const PARTS: EnvelopeParts = {
  id: parseEventId('evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG')!,
  seq: 4128 as Seq,
  event: 'conversation.queued',
  occurredAt: '2026-03-01T12:00:00.000Z',
  orgId: parseOrgId('0f8fad5b-d9cb-469f-a165-70867728950e')!,
  widgetId: parseWidgetId('7c9e6679-7425-40de-944b-e07fc1f90ae7')!,
  dataJson: '{}',
};

describe('envelopeBytes', () => {
  it('has the members of contract 3.2, in that order, timestamp being the alias of occurred_at', () => {
    const envelope = JSON.parse(envelopeBytes(PARTS).toString()) as Record<string, unknown>;
    expect(Object.entries(envelope)).toEqual([
      ['id', PARTS.id],
      ['seq', 4128],
      ['event', 'conversation.queued'],
      ['occurred_at', '2026-03-01T12:00:00.000Z'],
      ['timestamp', '2026-03-01T12:00:00.000Z'],
      ['org_id', PARTS.orgId],
      ['widget_id', PARTS.widgetId],
      ['data', {}],
    ]);
  });

  it('has widget_id null for an org-wide event', () => {
    expect(JSON.parse(envelopeBytes({ ...PARTS, widgetId: null }).toString())).toMatchObject({ widget_id: null });
  });

  it('keeps data as it was sent', () => {
    const dataJson = '{ "n": 1.0,\n"big":12345678901234567890.10, "e":1E+2, "b":1, "a":"\\u00e4ä\\ud800" }';
    expect(envelopeBytes({ ...PARTS, dataJson }).toString()).toContain(`,"data":${dataJson}}`);
  });

  it('is UTF-8 JSON of any data', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' })), (data) => {
        const dataJson = JSON.stringify(data);
        const text = new TextDecoder('utf8', { fatal: true }).decode(envelopeBytes({ ...PARTS, dataJson }));
        expect((JSON.parse(text) as { data: unknown }).data).toEqual(JSON.parse(dataJson));
      }),
    );
  });

  it('is the same bytes for the same parts', () => {
    expect(envelopeBytes(PARTS).equals(envelopeBytes({ ...PARTS }))).toBe(true);
  });
});
