import { inboxValue, type EventId, type OrgId } from '#libs/domain';
import { PACKINGS } from './packings.js';
import { anEventId, anOrgId } from './ids.js';
import type { Packing, RawRecord } from './record-batch.js';

/** What becomes of a record: it is an event of the org, a dead letter with this code, or refused by the broker itself. */
type Fate = 'event' | 'refused' | { readonly code: string };

export interface HostileRecord {
  readonly name: string;
  /** Some are large. */
  readonly records: () => readonly RawRecord[];
  readonly packing?: Packing;
  readonly fate: Fate;
  /** The ids of the records that become events. */
  readonly ids: readonly EventId[];
}

const MALFORMED = { code: 'malformed_request' };
const INVALID = { code: 'validation_failed' };
const UNKNOWN = { code: 'unknown_event_type' };
const TOO_LARGE = { code: 'payload_too_large' };
const MIB = 1024 * 1024;

/** Records that any service may write to the inbox, each of which stopped something once or might. */
export function hostileRecords(orgId: OrgId, nowMs: number): readonly HostileRecord[] {
  const key = Buffer.from(orgId);
  const occurredAt = new Date(nowMs).toISOString();
  const members = (changes: Readonly<Record<string, unknown>> = {}) => ({
    id: anEventId(),
    event: 'ticket.created',
    org_id: orgId,
    data: {},
    ...changes,
  });
  const good = (dataJson = '{}', event = 'ticket.created' as const) => {
    const id = anEventId();
    return { id, value: inboxValue({ id, event, occurredAt, orgId, widgetId: null, dataJson }) };
  };
  const deadOf = (name: string, fate: Fate, record: () => Partial<RawRecord>): HostileRecord => ({
    name,
    fate,
    records: () => [{ key, value: Buffer.from(JSON.stringify(members())), ...record() }],
    ids: [],
  });
  const dead = (name: string, fate: Fate, record: Partial<RawRecord>): HostileRecord =>
    deadOf(name, fate, () => record);
  const value = (name: string, fate: Fate, text: string | Buffer): HostileRecord =>
    deadOf(name, fate, () => ({ value: Buffer.from(text) }));
  const json = (name: string, fate: Fate, changes: Readonly<Record<string, unknown>>): HostileRecord =>
    value(name, fate, JSON.stringify(members(changes)));
  const eventOf = (name: string, change: () => Partial<RawRecord>, packing?: Packing): HostileRecord => {
    const { id, value: text } = good(JSON.stringify({ text: 'x'.repeat(300) }));
    const records = () => [{ key, value: text, ...change() }];
    return { name, fate: 'event', records, ids: [id], ...(packing === undefined ? {} : { packing }) };
  };
  const event = (name: string, change: Partial<RawRecord> = {}, packing?: Packing): HostileRecord =>
    eventOf(name, () => change, packing);
  const ofData = (name: string, dataJson: string, type: string): HostileRecord => {
    const { id, value: text } = good(dataJson, type as 'ticket.created');
    return { name, fate: 'event', records: () => [{ key, value: text }], ids: [id] };
  };
  const chat = (subject: string, more = '') =>
    `{"conversation":{"id":"cnv_${anEventId()}","subject":"${subject}","status":"waiting_for_agent"${more}}}`;
  const headers = (count: number, name: (nth: number) => string) =>
    Array.from({ length: count }, (_, nth) => [name(nth), Buffer.alloc(0)] as const);

  return [
    dead('no value', MALFORMED, { value: null }),
    value('an empty value', MALFORMED, ''),
    value('no JSON', MALFORMED, '{'),
    value('no UTF-8', MALFORMED, Buffer.from([0x7b, 0xff, 0xfe, 0x7d])),
    value('a byte order mark', MALFORMED, `\uFEFF${JSON.stringify(members())}`),
    value('a lone NUL', MALFORMED, '\0'),
    value('an array', INVALID, '[]'),
    value('a text', INVALID, '"text"'),
    value('a number without end', INVALID, `1${'0'.repeat(200_000)}`),
    value('arrays in arrays', INVALID, '['.repeat(60_000) + ']'.repeat(60_000)),
    value('objects in objects', INVALID, `${'{"a":'.repeat(30_000)}1${'}'.repeat(30_000)}`),
    value('no members', INVALID, '{}'),
    json('a member too many', INVALID, { seq: 1 }),
    value('a prototype', INVALID, JSON.stringify(members()).replace('{', '{"__proto__":{"seq":1},')),
    value(
      'tens of thousands of members',
      INVALID,
      JSON.stringify({
        ...members(),
        ...Object.fromEntries(Array.from({ length: 20_000 }, (_, nth) => [`m${nth}`, 1])),
      }),
    ),
    json('an unknown type', UNKNOWN, { event: 'nope' }),
    json('a type that every object has', UNKNOWN, { event: 'constructor' }),
    json('a test', UNKNOWN, { event: 'test' }),
    json('a type that is not emitted', UNKNOWN, { event: 'lead.captured' }),
    json('an id that is a number', INVALID, { id: 7 }),
    json('an id that is too long', INVALID, { id: `evt_${'A'.repeat(100_000)}` }),
    json('an org that is none', INVALID, { org_id: 'acme' }),
    json('another org than its key', INVALID, { org_id: anOrgId() }),
    json('a time that is none', INVALID, { occurred_at: 'yesterday' }),
    json('a time far ahead', INVALID, { occurred_at: '9999-12-31T23:59:59Z' }),
    json('a time before all times', INVALID, { occurred_at: '-271821-04-20T00:00:00Z' }),
    json('data that is an array', INVALID, { data: [] }),
    json('no data', INVALID, { data: null }),
    json('a widget that is none', INVALID, { widget_id: '0' }),
    json('more than an event may have', TOO_LARGE, { data: { text: 'x'.repeat(MIB) } }),
    deadOf('8 MiB less 200 bytes', TOO_LARGE, () => ({ value: Buffer.alloc(8 * MIB - 200, 'x') })),

    dead('no key', INVALID, { key: null }),
    dead('an empty key', INVALID, { key: Buffer.alloc(0) }),
    dead('a key in upper case', INVALID, { key: Buffer.from(orgId.toUpperCase()) }),
    dead('a key that is no text', INVALID, { key: Buffer.from([0xff, 0x00]) }),
    dead('a key of 900 KB', INVALID, { key: Buffer.alloc(900_000, 'k') }),
    deadOf('a key of 7 MiB', INVALID, () => ({ key: Buffer.alloc(7 * MIB, 'k') })),

    event('a header without a value', { headers: [['note', null]] }),
    event('a header of ours without a value', { headers: [['traceparent', null]] }),
    event('a header for the target of a test', { headers: [['target-endpoint', Buffer.from('whe_1')]] }),
    event('a header name that is empty', { headers: [['', Buffer.from('x')]] }),
    event('header names that every object has', {
      headers: ['__proto__', 'constructor', 'hasOwnProperty', 'toString'].map(
        (name) => [name, Buffer.from('x')] as const,
      ),
    }),
    event('a trace that would end an HTTP header', { headers: [['traceparent', Buffer.from('00\r\nX-Admin: 1')]] }),
    event('a trace of 1 MiB', { headers: [['traceparent', Buffer.alloc(MIB, '0')]] }),
    event('a stamp that is none', { headers: [['checked-to', Buffer.from('-1e9')]] }),
    event('a stamp far ahead', { headers: [['checked-to', Buffer.from('999999999999999')]] }),
    eventOf('a million headers of one name', () => ({ headers: headers(1_000_000, () => 'a') })),
    eventOf('200,000 headers', () => ({ headers: headers(200_000, String) })),
    deadOf('headers of 7 MiB and no JSON', MALFORMED, () => ({
      value: Buffer.from('{'),
      headers: [['x', Buffer.alloc(7 * MIB, 0xff)]],
    })),
    dead('headers that look like a dead letter', MALFORMED, {
      value: Buffer.from('{'),
      headers: [
        ['x-error-code', Buffer.from('fine')],
        ['x-origin', Buffer.from('elsewhere')],
      ],
    }),

    ofData('a NUL in what alerts show', chat('\\u0000'), 'conversation.handed_off'),
    ofData('half a character in what alerts show', chat('\\ud800'), 'conversation.handed_off'),
    ofData('a number without end in what alerts show', chat('x', ',"n":1e400000'), 'conversation.handed_off'),
    ofData('a NUL in data', '{"text":"\\u0000"}', 'ticket.created'),
    ofData('a number without end in data', `{"n":${'9'.repeat(100_000)}}`, 'ticket.created'),

    ...Object.entries(PACKINGS).map(([name, packing]) => event(`compressed by ${name}`, {}, packing)),
    {
      ...dead('gzip that unpacks to 300 MiB', 'refused', {}),
      records: () => [{ key, value: Buffer.alloc(300 * MIB) }],
      packing: PACKINGS.gzip,
    },
    {
      name: '50,000 records in a batch',
      fate: MALFORMED,
      records: () => Array<RawRecord>(50_000).fill({ key, value: null }),
      ids: [],
    },
  ];
}
