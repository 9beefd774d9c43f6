import { describe, expect, it } from '@jest/globals';
import { judgePosition } from './position.js';

const POSITION = { next: 60, anchor: { offset: 59, fingerprint: 'a' } };

describe('judgePosition', () => {
  it('accepts a partition that holds what was read, or holds it no longer', () => {
    expect(judgePosition(POSITION, { begin: 0, end: 60, fingerprint: 'a' })).toEqual({ kind: 'fits' });
    expect(judgePosition(POSITION, { begin: 60, end: 90, fingerprint: null })).toEqual({ kind: 'fits' });
    expect(judgePosition({ next: 60, anchor: null }, { begin: 0, end: 60, fingerprint: null })).toEqual({
      kind: 'fits',
    });
    expect(judgePosition({ next: 0, anchor: null }, { begin: 0, end: 0, fingerprint: null })).toEqual({ kind: 'fits' });
  });

  it('notices a partition that ends before what was read', () => {
    expect(judgePosition(POSITION, { begin: 0, end: 59, fingerprint: null })).toMatchObject({
      kind: 'went back',
      expected: 60,
      found: 59,
    });
  });

  it('notices a partition that has grown again with other records', () => {
    expect(judgePosition(POSITION, { begin: 0, end: 90, fingerprint: 'b' })).toMatchObject({
      kind: 'went back',
      expected: 59,
    });
  });

  it('distinguishes records that retention removed unread', () => {
    expect(judgePosition(POSITION, { begin: 70, end: 90, fingerprint: null })).toEqual({
      kind: 'removed',
      from: 60,
      to: 70,
    });
  });
});
