import { describe, expect, it } from '@jest/globals';
import { arrivals, MAX_EVENTS, withNewer, withOlder, type EventWindow } from './event-window.js';

const ascending = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ seq: from + index }));
const seqs = ({ events }: EventWindow<{ readonly seq: number }>) => events.map(({ seq }) => seq);
const WINDOW: EventWindow<{ readonly seq: number }> = { events: ascending(8, 10).toReversed(), top: 10, before: 8 };

describe('a window of the feed', () => {
  it('grows at both ends without a gap', () => {
    const grown = withOlder(withNewer(WINDOW, ascending(11, 12), 12), ascending(5, 7), 5);
    expect(seqs(grown)).toEqual([12, 11, 10, 9, 8, 7, 6, 5]);
    expect(grown).toMatchObject({ top: 12, before: 5 });
  });

  it('ignores events that it has', () => {
    expect(seqs(withNewer(WINDOW, ascending(9, 11), 11))).toEqual([11, 10, 9, 8]);
  });

  it('loses its oldest events when it gets too long, and knows where they continue', () => {
    const long = withNewer(WINDOW, ascending(11, 10_010), 10_010);
    expect(long.events).toHaveLength(MAX_EVENTS);
    expect(seqs(long)).toEqual(
      ascending(10_011 - MAX_EVENTS, 10_010)
        .map(({ seq }) => seq)
        .toReversed(),
    );
    expect(long.before).toBe(10_011 - MAX_EVENTS);
  });

  it('remembers how far it was read, although nothing matched', () => {
    expect(withNewer(WINDOW, [], 500)).toMatchObject({ top: 500, before: 8 });
  });
});

describe('the events after a seq', () => {
  it('are all counted, although the window began again at the head', () => {
    const atHead = { events: ascending(5_961, 6_010).toReversed(), top: 6_010, before: 5_961 };
    expect(arrivals(atHead, 10, false)).toEqual({ count: 6_000, isLeast: false });
  });

  it('may be more than those in the window if not every seq matches the filter', () => {
    const window = { events: ascending(21, 30).toReversed(), top: 40, before: 21 };
    expect(arrivals(window, 19, true)).toEqual({ count: 10, isLeast: true });
    expect(arrivals(window, 20, true)).toEqual({ count: 10, isLeast: false });
    expect(arrivals({ ...window, before: null }, 10, true)).toEqual({ count: 10, isLeast: false });
    expect(arrivals(window, 25, true)).toEqual({ count: 5, isLeast: false });
  });
});
