import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  catalogEntry,
  EVENT_TYPES,
  inboxValue,
  isIngestable,
  operationalEventId,
  operationalFactsId,
  type EndpointId,
  type OrgId,
} from '#libs/domain';
import { parseInboxValue, type InboxReading } from './parse-inbox-value.js';
import { INGEST_LIMITS, parseSubmission } from './parse-submission.js';

const ORG = '0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21' as OrgId;
const OTHER_ORG = 'aaaaaaaa-6a1e-4d27-9a45-3f0f8c1d7e21' as OrgId;
const WIDGET = '5b2f7c10-93d4-4c6e-8a11-d2c9b7e0f634';
const ID = 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG';
const APPENDED_AT = Date.parse('2026-03-02T09:14:05.678Z');
const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const EXAMPLE_ID = `evt_EXAMPLE${'0'.repeat(19)}`;

type Members = Record<string, unknown>;

const anEvent = (members: Members = {}): Members => ({
  id: ID,
  event: 'ticket.created',
  org_id: ORG,
  data: { id: 'tkt_1' },
  ...members,
});

interface RecordOf {
  readonly key?: string | null;
  readonly at?: number;
  readonly hasTarget?: boolean;
}

function read(value: unknown, { key = ORG, at = APPENDED_AT, hasTarget = false }: RecordOf = {}): InboxReading {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  return parseInboxValue(bytes, key === null ? null : Buffer.from(key), at, { hasTarget });
}

const refused = (code: string, detail: string) => ({ ok: false, code, detail });
const invalid = (detail: string) => refused('validation_failed', detail);

describe('a valid inbox record', () => {
  it('gives its event, the payload as it was sent', () => {
    const value =
      `{"data": {"n": 1.0},"widget_id":"${WIDGET}","org_id":"${ORG}",` +
      `"occurred_at":"2026-03-01T10:00:00+02:00","event":"ticket.created","id":"${ID}"}`;
    expect(read(value)).toEqual({
      ok: true,
      event: {
        id: ID,
        event: 'ticket.created',
        occurredAt: '2026-03-01T08:00:00.000Z',
        orgId: ORG,
        widgetId: WIDGET,
        dataJson: '{"n": 1.0}',
      },
    });
  });

  it('occurred when it was appended if it does not say so', () => {
    expect(read(anEvent())).toMatchObject({ ok: true, event: { occurredAt: '2026-03-02T09:14:05.678Z' } });
  });

  it('may lie 24 hours ahead of its timestamp, by an api whose clock is 10 minutes ahead', () => {
    const occurredAt = new Date(APPENDED_AT + DAY_MS + 10 * MINUTE_MS).toISOString();
    expect(read(anEvent({ occurred_at: occurredAt }))).toMatchObject({ ok: true, event: { occurredAt } });
  });

  it('may spell the organization in upper case within the value', () => {
    expect(read(anEvent({ org_id: ORG.toUpperCase() }))).toMatchObject({ ok: true, event: { orgId: ORG } });
  });

  it('may be a test or an example if it has a target', () => {
    expect(read(anEvent({ event: 'test' }), { hasTarget: true })).toMatchObject({ ok: true, event: { event: 'test' } });
    expect(read(anEvent({ id: EXAMPLE_ID }), { hasTarget: true })).toMatchObject({
      ok: true,
      event: { id: EXAMPLE_ID },
    });
  });

  it('is what the api makes of an accepted event, one of the full size included', () => {
    const empty = JSON.stringify({ event: 'ticket.created', data: { text: '' } });
    const text = empty.replace('""', `"${'x'.repeat(INGEST_LIMITS.maxEventBytes - empty.length)}"`);
    const [event] = parseSubmission(Buffer.from(`{"events":[${text}]}`), {
      orgOfKey: ORG,
      nowMs: APPENDED_AT,
      limits: INGEST_LIMITS,
    });
    const named = { ...event!, id: `evt_${'Z'.repeat(64)}` as never, widgetId: WIDGET as never };
    expect(parseInboxValue(inboxValue(named), Buffer.from(ORG), APPENDED_AT, { hasTarget: false })).toEqual({
      ok: true,
      event: named,
    });
  });
});

describe('an invalid inbox record', () => {
  it('has no value', () => {
    expect(parseInboxValue(null, Buffer.from(ORG), APPENDED_AT, { hasTarget: false })).toEqual(
      refused('malformed_request', 'The record has no value.'),
    );
  });

  it.each([
    ['is not JSON', '{', refused('malformed_request', 'Not JSON.')],
    ['is empty', '', refused('malformed_request', 'Not JSON.')],
    ['is not UTF-8', Buffer.from([0xff]), refused('malformed_request', 'Not UTF-8.')],
    ['is not an object', '[]', invalid('#: must be an object')],
    ['has no id', anEvent({ id: undefined }), invalid('#/id: is required')],
    ['has no organization', anEvent({ org_id: undefined }), invalid('#/org_id: is required')],
    ['has no data', anEvent({ data: undefined }), invalid('#/data: is required')],
    ['has a member too many', anEvent({ seq: 1 }), invalid('#/seq: is not a member that can be given here')],
    [
      'is of an unknown type',
      anEvent({ event: 'nope' }),
      refused('unknown_event_type', '#/event: "nope" is not an event type'),
    ],
    [
      'is an example for everybody',
      anEvent({ id: EXAMPLE_ID }),
      invalid('#/id: is not an id that Gapless gives to ticket.created'),
    ],
    [
      'has the id of an event that Gapless raises',
      anEvent({ id: `evt_OPERATIONAL${'0'.repeat(26)}` }),
      invalid('#/id: is not an id that Gapless gives to ticket.created'),
    ],
    ['is a test', anEvent({ event: 'test' }), refused('unknown_event_type', '#/event: "test" cannot be submitted')],
    [
      'is a lead.captured',
      anEvent({ event: 'lead.captured' }),
      refused('unknown_event_type', '#/event: "lead.captured" cannot be submitted'),
    ],
    [
      'is org-wide and names a widget',
      anEvent({ event: 'help_article.created', widget_id: WIDGET }),
      invalid('#/widget_id: must be null: help_article.created is an org-wide event'),
    ],
    [
      'has data that does not fit its type',
      anEvent({ event: 'lead.created', data: { id: 'l', email: 5, source: 's', created_at: '2026-03-02T09:12:44Z' } }),
      invalid('#/data/email: must be string or null'),
    ],
    [
      'lies more than 24 hours ahead of its timestamp',
      anEvent({ occurred_at: new Date(APPENDED_AT + DAY_MS + 10 * MINUTE_MS + 1).toISOString() }),
      invalid('#/occurred_at: must not be more than 24 hours ahead'),
    ],
    [
      'has several problems',
      { event: 'nope', org_id: ORG, data: 1 },
      invalid('#/id: is required; #/event: "nope" is not an event type; #/data: must be an object'),
    ],
  ])('%s', (_case, value, reading) => {
    expect(read(value)).toEqual(reading);
  });

  it('is a test of a widget', () => {
    expect(read(anEvent({ event: 'test', widget_id: WIDGET }), { hasTarget: true })).toEqual(
      invalid('#/widget_id: must be null: test is an org-wide event'),
    );
  });

  it.each([null, '', OTHER_ORG, ORG.toUpperCase(), `${ORG} `])('has a key that is not its organization: %j', (key) => {
    expect(read(anEvent(), { key })).toEqual(invalid('#/org_id: must be the key of the record, in lower case'));
  });

  it.each([-1, -1e18, NaN, 1e18])('has no usable timestamp: %d', (at) => {
    expect(read(anEvent(), { at })).toEqual(invalid('The record has no usable timestamp.'));
  });

  it('has more bytes than any event needs', () => {
    const value = anEvent({ data: { text: 'x'.repeat(INGEST_LIMITS.maxEventBytes + 1024) } });
    expect(read(value)).toMatchObject({ ok: false, code: 'payload_too_large' });
  });

  it('has data that nests deeper than 64 levels', () => {
    const value = (levels: number) =>
      JSON.stringify(anEvent()).replace('"tkt_1"', '['.repeat(levels - 1) + ']'.repeat(levels - 1));
    expect(read(value(64))).toMatchObject({ ok: true });
    expect(read(value(65))).toEqual(invalid('#: must not nest deeper than 64 levels within data'));
  });

  it('is described in words that fit a record header', () => {
    const members = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`${n}${'é'.repeat(1000)}`, n]));
    const reading = read(anEvent(members));
    expect(reading.ok ? '' : reading.detail.length).toBeLessThan(4096);
  });
});

describe('reading any value of the inbox', () => {
  it('never throws', () => {
    const member = (...values: readonly unknown[]) => fc.oneof(fc.constantFrom(...values), fc.jsonValue());
    const nearly = fc
      .record(
        {
          id: member(ID),
          event: member(...EVENT_TYPES.filter(isIngestable)),
          occurred_at: member('2026-03-02T09:14:05Z'),
          org_id: member(ORG),
          widget_id: member(WIDGET, null),
          data: member({}),
        },
        { requiredKeys: [] },
      )
      .map((value) => Buffer.from(JSON.stringify(value)));
    const bytes = fc.uint8Array().map((value) => Buffer.from(value));
    const keys = fc.oneof(fc.constant(Buffer.from(ORG)), fc.constant(null), bytes);
    const values = fc.oneof(
      nearly,
      bytes,
      fc.constant(null),
      fc.json().map((json) => Buffer.from(json)),
    );
    fc.assert(
      fc.property(values, keys, fc.oneof(fc.constant(APPENDED_AT), fc.double()), (value, key, at) => {
        const reading = parseInboxValue(value, key, at, { hasTarget: false });
        expect(parseInboxValue(value, key, at, { hasTarget: false })).toEqual(reading);
      }),
      { numRuns: 8_000 },
    );
  });
});

describe('an operational event', () => {
  const { example } = catalogEntry('endpoint.enabled');
  const facts = { ...example, endpoint: { id: 'whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG', name: null, url: null } };
  const factsId = operationalFactsId('endpoint.enabled', facts.endpoint.id as EndpointId, facts);
  const id = operationalEventId(Buffer.alloc(32, 1), factsId);

  it('is read if its id has the form of such ids, and refused from a producer with ids of its own', () => {
    expect(read(anEvent({ id, event: 'endpoint.enabled', data: facts }))).toMatchObject({ ok: true, event: { id } });
    const detail = '#/id: is not an id that Gapless gives to endpoint.enabled';
    for (const own of ['evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG', factsId]) {
      expect(read(anEvent({ id: own, event: 'endpoint.enabled', data: facts }))).toEqual(invalid(detail));
    }
  });
});
