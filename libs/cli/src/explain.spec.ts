import { describe, expect, it } from '@jest/globals';
import { apiErrorOf } from '../../api-client/src/index.js';
import { FeedGapError, FeedResetError } from '../../consumer/src/index.js';
import { explain } from './explain.js';

describe('the explanation of an error', () => {
  it('says how to go on when the feed ends before the position', () => {
    expect(explain(new FeedResetError(4_127, 3))).toBe(
      'The feed ends at #3, so no event is after #4127. ' +
        'Gapless is behind or being restored: then wait, and run the command again. ' +
        'If the feed began again, or the number is of another organization, choose a start with --from.',
    );
  });

  it('says how to go on when the feed lacks events', () => {
    expect(explain(new FeedGapError(10, 12))).toBe(
      'The feed lacks the events between #10 and #12. Report this to the operator of Gapless. ' +
        'To go on without them, run the command again with --from 11.',
    );
  });

  it('does not blame the API key when a proxy asks for a login', () => {
    expect(explain(apiErrorOf(401, '<html>'))).toBe(
      'the answer is not from Gapless: check the base url, and proxies in between (401 unknown)',
    );
    expect(explain(apiErrorOf(401, { code: 'invalid_api_key', detail: '' }))).toMatch(/^The API key is not valid/);
  });
});
