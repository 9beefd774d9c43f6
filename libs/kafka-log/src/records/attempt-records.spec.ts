import { describe, expect, it } from '@jest/globals';
import { deliveryIdOf, parseEndpointId, parseEventId, parseOrgId, type DueAttempt, type Seq } from '#libs/domain';
import { asStored } from '../testing/as-stored.js';
import { attemptRecord, readAttemptRecord, waitsUntilMs } from './attempt-records.js';

const eventId = parseEventId('evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG')!;
const endpointId = parseEndpointId(`whe_${'E'.repeat(26)}`)!;
const DUE: DueAttempt = {
  delivery: {
    deliveryId: deliveryIdOf(eventId, endpointId),
    endpointId,
    orgId: parseOrgId('0f8fad5b-d9cb-469f-a165-70867728950e')!,
    eventId,
    event: 'ticket.created',
    seq: 4128 as Seq,
    createdAtMs: 1_750_000_000_001,
  },
  run: 2,
  attempt: 9,
  dueAtMs: 1_750_000_010_002,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  envelope: Buffer.from([0, 255, 10]),
};
const RECORD = attemptRecord('attempts', DUE);

function withMember(place: number, member: unknown): string {
  const tuple = JSON.parse(String(RECORD.headers!['attempt'])) as unknown[];
  return JSON.stringify(tuple.with(place, member));
}

describe('a record of an attempt', () => {
  it.each([
    ['with a trace', DUE],
    ['without one', { ...DUE, traceparent: null }],
    ['with a lead', { ...DUE, leadMs: 7 }],
    ['urgent', { ...DUE, delivery: { ...DUE.delivery, isUrgent: true as const } }],
    ['the first of its chain', { ...DUE, delivery: { ...DUE.delivery, previousSeq: 0 } }],
    ['whose previous event is unknown', { ...DUE, leadMs: 7, delivery: { ...DUE.delivery, previousSeq: -1 } }],
    ['urgent in a chain', { ...DUE, delivery: { ...DUE.delivery, isUrgent: true as const, previousSeq: 4 } }],
    ['urgent with a lead', { ...DUE, leadMs: 7, delivery: { ...DUE.delivery, isUrgent: true as const } }],
  ])('is read as it was written, %s', (_case, due) => {
    expect(readAttemptRecord(asStored(attemptRecord('attempts', due)))).toEqual(due);
  });

  it('is keyed by its endpoint, and carries the stored bytes as they are', () => {
    expect(RECORD).toMatchObject({ topic: 'attempts', key: endpointId });
    expect(RECORD.value).toBe(DUE.envelope);
  });

  it.each([0, 7])('may wait in a topic for a part of its time, with a lead of %i', (leadMs) => {
    const due = leadMs === 0 ? DUE : { ...DUE, leadMs };
    const record = asStored(attemptRecord('retry', due, DUE.dueAtMs - 5_000));
    expect(waitsUntilMs(record)).toBe(DUE.dueAtMs - 5_000);
    expect(readAttemptRecord(record)).toEqual(due);
  });

  it('says when it is due', () => {
    expect(waitsUntilMs(asStored(RECORD))).toBe(DUE.dueAtMs);
  });

  it('is none, and due at once, without its header', () => {
    expect(readAttemptRecord(asStored({ ...RECORD, headers: {} }))).toBeUndefined();
    expect(waitsUntilMs(asStored({ ...RECORD, headers: {} }))).toBe(0);
  });

  it.each([
    ['no JSON', '['],
    ['no array', '{}'],
    ['nothing', '[]'],
    ['a delivery id that is none', withMember(0, 'whd_1')],
    ['an org id that is none', withMember(1, 'acme')],
    ['an event id that is none', withMember(2, 'evt_')],
    ['an event type that is none', withMember(3, 7)],
    ['a seq that is none', withMember(4, 1.5)],
    ['a seq that is too large', withMember(4, 1e16)],
    ['a time of creation that is none', withMember(5, 'yesterday')],
    ['a run that is none', withMember(6, -1)],
    ['an attempt that is none', withMember(7, '')],
    ['a due time that is none', withMember(8, null)],
    ['a trace that is none', withMember(9, 0)],
  ])('is none with %s in its header', (_case, attempt) => {
    expect(readAttemptRecord(asStored({ ...RECORD, headers: { attempt } }))).toBeUndefined();
  });

  it('is none without an endpoint as its key, or without a value', () => {
    expect(readAttemptRecord(asStored({ ...RECORD, key: null }))).toBeUndefined();
    expect(readAttemptRecord(asStored({ ...RECORD, key: 'whe_1' }))).toBeUndefined();
    expect(readAttemptRecord(asStored({ ...RECORD, value: null }))).toBeUndefined();
  });
});
