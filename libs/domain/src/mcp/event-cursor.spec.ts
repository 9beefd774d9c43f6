import { describe, expect, it } from '@jest/globals';
import type { OrgId, Seq } from '../kernel/index.js';
import { EventCursors } from './event-cursor.js';

const [KEY, OTHER_KEY] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const [ORG, OTHER_ORG] = [
  '0d1c6f4e-0000-4000-8000-000000000001' as OrgId,
  '0d1c6f4e-0000-4000-8000-000000000002' as OrgId,
];
const cursors = new EventCursors([KEY]);

describe('a cursor', () => {
  it.each([0, 1, 4_127, Number.MAX_SAFE_INTEGER])('is the position %d', (seq) => {
    expect(cursors.read(ORG, cursors.at(ORG, seq as Seq))).toBe(seq);
  });

  it('belongs to one organization', () => {
    expect(cursors.read(OTHER_ORG, cursors.at(ORG, 7 as Seq))).toBeUndefined();
  });

  it('cannot be changed in any byte', () => {
    const bytes = Buffer.from(cursors.at(ORG, 7 as Seq), 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at]! ^= 1;
      expect(cursors.read(ORG, changed.toString('base64url'))).toBeUndefined();
    }
  });

  it.each(['', 'AAAA', '7', 'null', '%', 'x'.repeat(10_000)])('is not %p', (text) => {
    expect(cursors.read(ORG, text)).toBeUndefined();
  });

  it('has one spelling', () => {
    expect(cursors.read(ORG, `${cursors.at(ORG, 7 as Seq)}=`)).toBeUndefined();
  });

  it('stays valid while the key that signed it is kept', () => {
    const old = new EventCursors([OTHER_KEY]).at(ORG, 7 as Seq);
    expect(new EventCursors([KEY, OTHER_KEY]).read(ORG, old)).toBe(7);
    expect(cursors.read(ORG, old)).toBeUndefined();
  });
});
