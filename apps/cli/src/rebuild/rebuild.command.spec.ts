import { describe, expect, it } from '@jest/globals';
import { runCommand } from '../../../../test/support/command.js';
import { moveLines, rebuildCommand } from './rebuild.command.js';

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
  unmarked: [],
};

/** Nothing is connected to: a setting is wrong. */
const NOWHERE = { DATABASE_URL: 'postgres://nowhere/gapless', KAFKA_BROKERS: 'nowhere:9092', PORT: '-1' };

describe('options that do not go together', () => {
  it.each([
    '--to postgres://a/b --start-over',
    '--to-file urls --start-over',
    '--to postgres://a/b --deliveries',
    '--assign-places --from-empty',
    '--assign-places --to postgres://a/b',
  ])('are refused: %s', async (options) => {
    const { failure } = await runCommand(rebuildCommand, NOWHERE, options.split(' '));
    expect(failure?.message).toMatch(/^--to and --to-file can only be combined with --json and --threads/);
  });

  it('do not include --assign-places and --start-over', async () => {
    const { failure } = await runCommand(rebuildCommand, NOWHERE, ['--assign-places', '--start-over']);
    expect(failure?.message).toMatch('PORT=-1');
  });
});

it.each(['0', '65', '1.5', 'all'])('--threads %s is refused', async (threads) => {
  const { failure } = await runCommand(rebuildCommand, NOWHERE, ['--threads', threads]);
  expect(failure?.message).toContain('expected an integer from 1 to 64');
});

describe('what a move says', () => {
  it.each([
    ['has left', true],
    ['serves, or never served', false],
  ])('has the statement that empties the main database only if it is one that the feed %s', (_, hasMainLeft) => {
    const text = moveLines({ ...MOVED, hasMainLeft }).join('\n');
    expect(text.includes('truncate events')).toBe(hasMainLeft);
  });

  it('names the databases that could not be marked as left, after what to do next', () => {
    const lines = moveLines({ ...MOVED, hasMainLeft: false, unmarked: ['a:1/old'] });
    expect(lines.at(-1)).toBe('Nothing uses a:1/old any more, but it could not be marked as left: it takes no writes.');
    expect(lines.join('\n')).toContain('drop what nothing else needs');
  });

  it.each([
    ['what to do next, if the feed has moved before', ['a:1/old'], 'The feed has left a:1/old'],
    ['no more, if it was always there', [], undefined],
  ])('is %s', (_, left, next) => {
    const lines = moveLines({ left, hasMainLeft: false });
    expect([lines[0], lines[3]?.slice(0, next?.length)]).toEqual(['The feed is in these databases already.', next]);
  });

  it('includes how often the feed was closed in vain', () => {
    const text = (closedInVain: number) => moveLines({ ...MOVED, hasMainLeft: false, closedInVain }).join('\n');
    expect(text(2)).toContain('closed and opened again 2 times');
    expect(text(0)).not.toContain('opened again');
  });
});
