import { describe, expect, it } from '@jest/globals';
import { decodeAuditCursor, encodeAuditCursor } from './audit-cursor.js';

const PLACE = { atMicros: '1780000000123456', id: '0f8fad5b-d9cb-469f-a165-70867728950e' };

describe('the cursor of the audit log', () => {
  it('names a place', () => {
    expect(decodeAuditCursor(encodeAuditCursor(PLACE))).toEqual(PLACE);
  });

  it.each([
    '',
    'x',
    `${encodeAuditCursor(PLACE)}=`,
    Buffer.from('1.2').toString('base64url'),
    Buffer.from(`${'9'.repeat(19)}.${PLACE.id}`).toString('base64url'),
    Buffer.from(`1.${'-'.repeat(36)}`).toString('base64url'),
  ])('is not %p', (text) => {
    expect(decodeAuditCursor(text)).toBeUndefined();
  });
});
