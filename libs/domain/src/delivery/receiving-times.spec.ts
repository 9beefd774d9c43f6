import { describe, expect, it } from '@jest/globals';
import type { Seq } from '../kernel/index.js';
import { outOfTime } from './receiving-times.js';

const times = {
  receivesAfter: 10 as Seq,
  inactive: [
    { after: 20 as Seq, until: 25 as Seq },
    { after: 30 as Seq, until: 30 as Seq },
  ],
};

describe('the time in which an endpoint receives', () => {
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
    expect(outOfTime(times, seq as Seq)).toBe(reason);
  });
});
