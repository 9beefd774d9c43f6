import { describe, expect, it } from '@jest/globals';
import type { Seq } from '../kernel/index.js';
import { MAX_REPLAY, replayStart, startAfter } from './subscription-start.js';

describe('a subscription that continues', () => {
  it.each([
    ['while every later event is kept', { asked: 40, oldest: 1 }, { since: 40, isTruncated: false }],
    ['right before the oldest event', { asked: 40, oldest: 41 }, { since: 40, isTruncated: false }],
    ['after one event was pruned', { asked: 40, oldest: 42 }, { since: 41, isTruncated: true }],
    ['after all events were pruned', { asked: 40, oldest: 101 }, { since: 100, isTruncated: true }],
    ['at the head, when all events were pruned', { asked: 100, oldest: 101 }, { since: 100, isTruncated: false }],
    ['in a log without events', { asked: 0, oldest: 0 }, { since: 0, isTruncated: false }],
    ['ahead of a feed that is being rebuilt', { asked: 40, oldest: 0 }, { since: 40, isTruncated: false }],
  ])('%s', (_, { asked, oldest }, expected) => {
    expect(startAfter(asked as Seq, oldest as Seq)).toEqual(expected);
  });
});

describe('the start of a webhook subscription', () => {
  const at = (since: number, isTruncated = false) => ({ since: since as Seq, isTruncated });

  it('is where the client asks, if that is not too far back', () => {
    const head = (MAX_REPLAY + 5) as Seq;
    expect(replayStart(at(5), head)).toEqual(at(5));
    expect(replayStart(at(7, true), head)).toEqual(at(7, true));
    expect(replayStart(at(0), 3 as Seq)).toEqual(at(0));
  });

  it('is later and truncated otherwise', () => {
    expect(replayStart(at(4), (MAX_REPLAY + 5) as Seq)).toEqual(at(5, true));
  });
});
