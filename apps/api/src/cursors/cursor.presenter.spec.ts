import { describe, expect, it } from '@jest/globals';
import type { Seq } from '#libs/domain';
import { cursorJson } from './cursor.presenter.js';

const AT = new Date('2026-03-02T09:12:44.000Z');

function shown(seq: number, oldestSeq: number, headSeq: number) {
  const cursor = { name: 'billing', seq: seq as Seq, createdAt: AT, movedAt: AT };
  return cursorJson(cursor, { oldestSeq: oldestSeq as Seq, headSeq: headSeq as Seq });
}

describe('a cursor as callers see it', () => {
  it.each([
    ['at the head', 9, 1, 9, 0, 0],
    ['behind', 4, 1, 9, 5, 0],
    ['ahead of a feed that lags', 12, 1, 9, 0, 0],
    ['at the end of what retention removed', 4, 5, 9, 5, 0],
    ['before what retention removed', 3, 5, 9, 6, 1],
    ['of a feed without events', 0, 0, 0, 0, 0],
  ])('%s', (_, seq, oldest, head, behind, lost) => {
    expect(shown(seq, oldest, head)).toEqual({
      name: 'billing',
      seq,
      behind,
      lost,
      moved_at: '2026-03-02T09:12:44.000Z',
      created_at: '2026-03-02T09:12:44.000Z',
    });
  });
});
