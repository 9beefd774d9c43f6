import { describe, expect, it } from '@jest/globals';
import { moveLines } from './rebuild.command.js';

const MOVED = {
  records: 5,
  copied: 0,
  orgs: 2,
  events: 5,
  processes: 1,
  closedMs: 700,
  closedInVain: 0,
  databases: ['a:1/new'],
  left: ['a:1/old'],
};

describe('what a move says', () => {
  it.each([
    ['has left', true],
    ['serves, or never served', false],
  ])('has the statement that empties the main database only if it is one that the feed %s', (_, hasMainLeft) => {
    const text = moveLines({ ...MOVED, hasMainLeft }).join('\n');
    expect(text.includes('truncate events')).toBe(hasMainLeft);
  });

  it('includes how often the feed was closed in vain', () => {
    const text = (closedInVain: number) => moveLines({ ...MOVED, hasMainLeft: false, closedInVain }).join('\n');
    expect(text(2)).toContain('closed and opened again 2 times');
    expect(text(0)).not.toContain('opened again');
  });
});
