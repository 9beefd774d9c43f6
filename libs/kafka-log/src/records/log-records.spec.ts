import { describe, expect, it } from '@jest/globals';
import { parseEndpointId, parseEventId, parseOrgId, parseWidgetId, type LogEvent, type Seq } from '#libs/domain';
import { asStored } from '../testing/as-stored.js';
import { UnreadableRecordError } from './record.js';
import { isForeign, logRecord, readLogRecord, readLogRecords } from './log-records.js';

const EVENT: LogEvent = {
  orgId: parseOrgId('0f8fad5b-d9cb-469f-a165-70867728950e')!,
  seq: 4128 as Seq,
  id: parseEventId('evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG')!,
  event: 'ticket.created',
  widgetId: parseWidgetId('7c9e6679-7425-40de-944b-e07fc1f90ae7')!,
  targetEndpoint: parseEndpointId(`whe_${'E'.repeat(26)}`)!,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  envelope: Buffer.from('{"id":"ä"}'),
};
const CONTEXT = { occurredAt: '2026-03-01T12:00:00.000Z', inboxOffset: 77, inboxTimeMs: 1_772_366_400_123 };
const BARE: LogEvent = { ...EVENT, widgetId: null, targetEndpoint: null, traceparent: null };

describe('a record of the log', () => {
  it('carries the CloudEvents headers of binary mode, and the envelope as it is', () => {
    const { key, value, headers } = logRecord(EVENT, CONTEXT);
    expect(key).toBe(EVENT.orgId);
    expect(value).toBe(EVENT.envelope);
    expect(headers).toMatchObject({
      ce_specversion: '1.0',
      ce_id: EVENT.id,
      ce_type: 'ticket.created',
      ce_source: `/orgs/${EVENT.orgId}`,
      ce_time: CONTEXT.occurredAt,
      'content-type': 'application/json',
    });
  });

  it.each([
    ['with a widget, a target and a trace', EVENT],
    ['org-wide', BARE],
  ])('is read as it was written: %s', (_case, event) => {
    const stored = asStored(logRecord(event, CONTEXT));
    expect(readLogRecord(stored)).toEqual({
      ...event,
      appendedAtMs: stored.timestampMs,
      inboxOffset: 77,
      inboxTimeMs: 1_772_366_400_123,
    });
  });

  it('was appended when it first was, where a repair put it back', () => {
    const stored = asStored(logRecord(EVENT, { ...CONTEXT, isPutBack: true }));
    expect(stored.timestampMs).not.toBe(CONTEXT.inboxTimeMs);
    expect(readLogRecord(stored).appendedAtMs).toBe(CONTEXT.inboxTimeMs);
  });

  it('is the same for the same event, byte for byte', () => {
    expect(logRecord(EVENT, CONTEXT)).toEqual(logRecord({ ...EVENT }, { ...CONTEXT }));
  });

  it('is foreign unless it has both marks of the sequencer', () => {
    const own = logRecord(EVENT, CONTEXT);
    const { seq, 'inbox-offset': inboxOffset, ...others } = own.headers as Record<string, string>;
    const foreign = asStored({ ...own, headers: others });
    expect(isForeign(foreign)).toBe(true);
    expect(isForeign(asStored({ key: null, value: Buffer.from('x') }))).toBe(true);
    expect(isForeign(asStored({ ...own, headers: { ...others, seq: seq! } }))).toBe(true);
    expect(isForeign(asStored({ ...own, headers: { ...others, 'inbox-offset': inboxOffset! } }))).toBe(true);
    expect(isForeign(asStored({ ...own, key: null }))).toBe(false);
    expect(isForeign({ ...foreign, unreadable: { reason: 'its checksum is wrong', firstOffset: 3 } })).toBe(false);
    expect(readLogRecords([foreign, asStored(own), foreign]).map(({ id }) => id)).toEqual([EVENT.id]);
    expect(() => readLogRecords([asStored({ ...own, key: null })])).toThrow();
  });

  it.each([
    ['no org as its key', { key: 'nobody' }],
    ['no key', { key: null }],
    ['no value', { value: null }],
    ['no headers', { headers: {} }],
    ['a seq that is none', { headers: { ...logRecord(EVENT, CONTEXT).headers, seq: '-1' } }],
  ])('is refused with %s, and named: such a log cannot be trusted', (_case, change) => {
    const act = () => readLogRecord(asStored({ ...logRecord(EVENT, CONTEXT), ...change }));
    expect(act).toThrow(UnreadableRecordError);
    expect(act).toThrow('topic/2/7 has the headers of the sequencer, but cannot be read.');
  });
});
