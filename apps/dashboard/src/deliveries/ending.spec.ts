import { describe, expect, it } from '@jest/globals';
import { endingOf, resultText } from './ending.js';

const failed = (last_error: string | null, attempts: number, response_status: number | null = null) =>
  ({ status: 'failed', last_error, attempts, response_status }) as const;

describe('the end of a delivery', () => {
  it('is shown only for one that failed', () => {
    expect(endingOf({ ...failed(null, 1), status: 'pending' }, true)).toBeUndefined();
    expect(endingOf({ ...failed(null, 1), status: 'delivered' }, true)).toBeUndefined();
  });

  it('names the endpoint that was disabled, not the last response', () => {
    const ended = failed('endpoint_disabled', 3, 500);
    expect(endingOf(ended, false)?.title).toBe('Ended after 3 attempts, because the endpoint was disabled');
    expect(endingOf(ended, false)?.next).toContain('Enable the endpoint');
    expect(endingOf(ended, true)?.next).toContain('replay');
    expect(resultText(ended)).toBe('Endpoint disabled, after HTTP 500');
    expect(endingOf(ended, undefined)?.next).toBe('Replay or recover it once the endpoint is enabled.');
    expect(endingOf(failed('endpoint_disabled', 0), false)?.title).toContain('before its first attempt');
  });

  it('names who ended it, if it was skipped', () => {
    expect(endingOf(failed('skipped', 2, 500), true)?.title).toBe('Skipped after 2 attempts');
    expect(endingOf(failed('skipped', 0), true)).toMatchObject({
      title: 'Skipped before its first attempt',
      next: 'It is not tried again, unless you replay it.',
    });
  });

  it('names the last error when the attempts are used up', () => {
    expect(endingOf(failed('http_status: 503', 9, 503), true)?.title).toBe(
      'Gave up after 9 attempts: responded with an error status: 503',
    );
    expect(endingOf(failed('timeout', 1), true)).toMatchObject({
      title: 'Gave up after 1 attempt: no answer in time',
      next: 'Answer within 10 seconds and do the work afterwards, then replay.',
    });
  });
});
