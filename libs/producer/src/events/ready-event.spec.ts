import { describe, expect, it } from '@jest/globals';
import { parseInboxValue } from '../../../event-validation/src/index.js';
import type { NewEvent } from './new-event.js';
import { InvalidEventError, readyEvent } from './ready-event.js';

const ORG = '0F8FAD5B-D9CB-469F-A165-70867728950E';
const EVENT: NewEvent = { event: 'ticket.created', org_id: ORG, data: { id: 'tkt_1' } };

function circular(): Record<string, unknown> {
  const data: Record<string, unknown> = {};
  data['self'] = data;
  return data;
}

describe('an event that is to be emitted', () => {
  it('is what the inbox takes', () => {
    const { id, orgId, json } = readyEvent({ ...EVENT, widget_id: '0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21' });
    const reading = parseInboxValue(Buffer.from(json), Buffer.from(orgId), Date.now(), { hasTarget: false });
    expect(reading).toMatchObject({ ok: true, event: { id, event: 'ticket.created', orgId: ORG.toLowerCase() } });
  });

  it('keeps the id and the time that it is given', () => {
    const id = 'evt_0123456789abcdef';
    const occurred_at = new Date('2026-03-02T09:12:44.000Z');
    expect(JSON.parse(readyEvent({ ...EVENT, id, occurred_at }).json)).toEqual({
      id,
      event: 'ticket.created',
      occurred_at: '2026-03-02T09:12:44.000Z',
      org_id: ORG.toLowerCase(),
      widget_id: null,
      data: { id: 'tkt_1' },
    });
    expect(readyEvent(EVENT).id).not.toBe(readyEvent(EVENT).id);
  });

  it.each<[string, Partial<NewEvent>]>([
    ['an id that is none', { id: 'tkt_1' }],
    ['an organization that is none', { org_id: 'acme' }],
    ['a time that is none', { occurred_at: 'yesterday' }],
    ['data that is a list', { data: [] as never }],
    ['data that is missing', { data: undefined as never }],
    ['a BigInt', { data: { n: 1n } }],
    ['data that refers to itself', { data: circular() }],
    ['more than 256 KiB', { data: { text: 'x'.repeat(256 * 1024) } }],
  ])('is refused with %s', (_what, change) => {
    expect(() => readyEvent({ ...EVENT, ...change } as NewEvent)).toThrow(InvalidEventError);
  });

  it('is refused with its place in the list', () => {
    const refused = () => readyEvent({ ...EVENT, data: { n: 1n } }, 2);
    expect(refused).toThrow('events[2]: data cannot be written as JSON: Do not know how to serialize a BigInt');
    expect(refused).toThrow(expect.objectContaining({ name: 'InvalidEventError', index: 2 }));
    expect(() => readyEvent(null as never, 1)).toThrow('events[1]: is not an object');
  });

  it('is of the shape that its type asks for', () => {
    // @ts-expect-error a lead has a source
    const lead: NewEvent = { event: 'lead.created', org_id: ORG, data: { id: 'l', email: null, created_at: '' } };
    // @ts-expect-error content belongs to no widget
    const article: NewEvent = { event: 'help_article.created', org_id: ORG, widget_id: ORG, data: {} };
    // @ts-expect-error only the test operation makes tests
    const test: NewEvent = { event: 'test', org_id: ORG, data: {} };
    expect([lead, article, test]).toHaveLength(3);
  });
});
