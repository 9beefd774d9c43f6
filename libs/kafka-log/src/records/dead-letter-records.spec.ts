import { describe, expect, it } from '@jest/globals';
import { recordBytes, type StoredRecord } from './record.js';
import { asStored } from '../testing/as-stored.js';
import { deadLetterRecord, unreadableBatchRecord } from './dead-letter-records.js';

function letter(record: Partial<StoredRecord>, detail = 'Not JSON.') {
  const stored = { ...asStored({ key: 'key', value: Buffer.from('value'), headers: { a: '1' } }), ...record };
  return deadLetterRecord('dead', stored, 'malformed_request', detail);
}

describe('a dead letter', () => {
  it('is the record as it came, with the reason and where it was', () => {
    expect(letter({})).toEqual({
      topic: 'dead',
      key: Buffer.from('key'),
      value: Buffer.from('value'),
      headers: {
        a: '1',
        'x-error-code': 'malformed_request',
        'x-error-detail': 'Not JSON.',
        'x-origin': 'topic/2/7',
      },
    });
  });

  it('of a record without key and value has none either', () => {
    expect(letter({ key: null, value: null })).toMatchObject({ key: null, value: null });
  });

  it.each<[string, Partial<StoredRecord>, string]>([
    ['value', { value: Buffer.alloc(8 * 1024 * 1024 - 200) }, 'value of 8388408 bytes'],
    ['key', { key: Buffer.alloc(900_000) }, 'key of 900000 bytes'],
    ['header', { headers: { a: '1', b: 'x'.repeat(7_000_000), c: '3' } }, '1 headers'],
    ['detail', {}, ''],
  ])('of a record with a large %s is far smaller than a broker takes, and says what was cut', (_, record, cut) => {
    const found = letter(record, 'ä'.repeat(1_000_000));
    expect(recordBytes(found)).toBeLessThan(1.2 * 1024 * 1024);
    expect(found.headers?.['x-cut'] ?? '').toBe(cut);
  });

  it('of many headers has the first of them', () => {
    const headers = Object.fromEntries(Array.from({ length: 50_000 }, (_, nth) => [`h${nth}`, 'v']));
    const found = letter({ headers });
    expect(found.headers).toHaveProperty('h0');
    expect(found.headers?.['x-cut']).toMatch(/^\d+ headers$/);
    expect(recordBytes(found)).toBeLessThan(1024 * 1024);
  });

  it('of a batch that cannot be read has its bytes, its offsets and the reason', () => {
    const unreadable = { reason: 'it is compressed by lz4', firstOffset: 3 };
    const record = { ...asStored({ key: null, value: Buffer.from('batch') }), unreadable };
    expect(unreadableBatchRecord('dead', record, unreadable)).toMatchObject({
      value: Buffer.from('batch'),
      headers: {
        'x-error-code': 'unreadable',
        'x-error-detail': 'The batch with the offsets 3 to 7 cannot be read: it is compressed by lz4.',
        'x-origin': 'topic/2/3',
      },
    });
  });
});
