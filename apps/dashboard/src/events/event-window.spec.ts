import { describe, expect, it } from '@jest/globals';
import { MAX_EVENTS, withNewer, withOlder, type EventWindow } from './event-window.js';

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
