import { describe, expect, it } from '@jest/globals';
import { deliveryIdOf, parseEndpointId, parseEventId, parseOrgId, type DueAttempt, type Seq } from '#libs/domain';
import { asStored } from '../testing/as-stored.js';
import { attemptRecord, dueAtMs, readAttemptRecord } from './attempt-records.js';

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

describe('a record of an attempt', () => {
  it.each([
    ['with a trace', DUE],
    ['without one', { ...DUE, traceparent: null }],
  ])('is read as it was written, %s', (_case, due) => {
    expect(readAttemptRecord(asStored(attemptRecord('attempts', due)))).toEqual(due);
  });

  it('is keyed by its endpoint, and carries the stored bytes as they are', () => {
    expect(RECORD).toMatchObject({ topic: 'attempts', key: endpointId });
    expect(RECORD.value).toBe(DUE.envelope);
  });

  it('tells when it is due', () => {
    expect(dueAtMs(asStored(RECORD))).toBe(DUE.dueAtMs);
  });

  it.each(Object.keys(RECORD.headers!).filter((name) => name !== 'traceparent'))('is none without %s', (name) => {
    const headers = Object.fromEntries(Object.entries(RECORD.headers!).filter(([other]) => other !== name));
    expect(readAttemptRecord(asStored({ ...RECORD, headers }))).toBeUndefined();
  });

  it.each([
    ['delivery-id', 'whd_1'],
    ['org-id', 'acme'],
    ['event-id', 'evt_'],
    ['seq', '1.5'],
    ['seq', '9999999999999999'],
    ['created-at-ms', 'yesterday'],
    ['run', '-1'],
    ['attempt', ''],
    ['due-at-ms', '1e9'],
  ])('is none with %s "%s"', (name, text) => {
    expect(readAttemptRecord(asStored({ ...RECORD, headers: { ...RECORD.headers, [name]: text } }))).toBeUndefined();
  });

  it('is none without an endpoint as its key, or without a value', () => {
    expect(readAttemptRecord(asStored({ ...RECORD, key: null }))).toBeUndefined();
    expect(readAttemptRecord(asStored({ ...RECORD, key: 'whe_1' }))).toBeUndefined();
    expect(readAttemptRecord(asStored({ ...RECORD, value: null }))).toBeUndefined();
  });
});
