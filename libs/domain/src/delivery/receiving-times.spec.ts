import { describe, expect, it } from '@jest/globals';
import type { Seq } from '../kernel/index.js';
import { outOfTime, type LogMoment } from './receiving-times.js';

const MINUTE_MS = 60_000;

function aMoment(afterSeq: number, endOffset: number | null = null, atMs = 0): LogMoment {
  return { afterSeq: afterSeq as Seq, endOffset, atMs };
}

/** An event of an org that is alone in its partition. */
function anEvent(seq: number, appendedAtMs = 0, offset = seq - 1) {
  return { seq: seq as Seq, offset, appendedAtMs };
}

const NO_MOMENT = aMoment(0);

describe('the time in which an endpoint receives', () => {
  const times = {
    created: aMoment(10),
    inactive: [
      { began: aMoment(20), ended: aMoment(25) },
      { began: aMoment(30), ended: aMoment(30) },
    ],
  };

  it.each([
    [1, 'before_endpoint'],
    [10, 'before_endpoint'],
    [11, undefined],
    [20, undefined],
    [21, 'while_inactive'],
    [25, 'while_inactive'],
    [26, undefined],
    [30, undefined],
    [31, undefined],
  ])('of event %i is: %s', (seq, reason) => {
    expect(outOfTime(times, anEvent(seq))).toBe(reason);
  });

  it('begins after the seqs of the feed, whatever the clock of their broker said', () => {
    expect(outOfTime(times, anEvent(10, 11 * MINUTE_MS))).toBe('before_endpoint');
  });
});

describe('while the feed lags', () => {
  it('nothing that was in the log before is for a new endpoint', () => {
    const times = { created: aMoment(4, 10), inactive: [] };
    expect(outOfTime(times, anEvent(10))).toBe('before_endpoint');
    expect(outOfTime(times, anEvent(11))).toBeUndefined();
  });

  it('what was in the log before an endpoint became inactive is for it, and what came then is not', () => {
    // The feed has shown none of it at the beginning, and half of it at the end.
    const times = { created: NO_MOMENT, inactive: [{ began: aMoment(4, 10), ended: aMoment(12, 20) }] };
    const reasons = [10, 11, 12, 13, 20, 21].map((seq) => outOfTime(times, anEvent(seq)));
    expect(reasons).toEqual([undefined, ...Array.from({ length: 4 }, () => 'while_inactive'), undefined]);
  });

  it('an endpoint whose period began before offsets were written down receives what the feed had shown', () => {
    const times = { created: NO_MOMENT, inactive: [{ began: aMoment(4), ended: aMoment(4, 20) }] };
    expect([4, 5, 20, 21].map((seq) => outOfTime(times, anEvent(seq)))).toEqual([
      undefined,
      'while_inactive',
      'while_inactive',
      undefined,
    ]);
  });
});

describe('in a log that was made again', () => {
  const later = 11 * MINUTE_MS;

  it('an endpoint receives what is later than its creation, whatever the offset', () => {
    const times = { created: aMoment(10, 1_000), inactive: [] };
    expect(outOfTime(times, anEvent(11, later, 0))).toBeUndefined();
  });

  it('an endpoint receives what is later than the end of its inactivity, whatever the offset', () => {
    const times = { created: NO_MOMENT, inactive: [{ began: aMoment(4, 5), ended: aMoment(10, 1_000) }] };
    expect(outOfTime(times, anEvent(11, later, 7))).toBeUndefined();
  });

  it('clocks that differ by minutes bring no history', () => {
    const times = { created: aMoment(10, 1_000), inactive: [] };
    expect(outOfTime(times, anEvent(11, 9 * MINUTE_MS, 999))).toBe('before_endpoint');
  });
});
