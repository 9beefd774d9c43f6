import { describe, expect, it } from '@jest/globals';
import { FeedResetError } from '../../consumer/src/index.js';
import { explain } from './explain.js';

describe('the explanation of an error', () => {
  it('says how to go on when the feed ends before the position', () => {
    expect(explain(new FeedResetError(4_127, 3))).toBe(
      'The feed ends at #3, so no event is after #4127. ' +
        'Gapless is behind or being restored: then wait, and run the command again. ' +
        'If the feed began again, or the number is of another organization, choose a start with --from.',
    );
  });
});
