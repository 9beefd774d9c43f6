import { describe, expect, it } from '@jest/globals';
import { apiErrorOf } from './api-error.js';

describe('the error of an answer', () => {
  it('of Gapless says what Gapless says', () => {
    const errors = [{ pointer: '#/events/0/data', code: 'required', detail: 'is required' }];
    const error = apiErrorOf(422, { code: 'validation_failed', detail: '#/events/0/data: is required', errors });
    expect(error).toMatchObject({ kind: 'refused', code: 'validation_failed', problems: errors });
    expect(error.message).toBe('422 validation_failed #/events/0/data: is required');
  });

  it.each<[number, unknown]>([
    [403, '<html>'],
    [404, ''],
    [404, { status: 404, error: 'Not Found' }],
    [422, { code: 17, detail: 'no', errors: [null] }],
    [502, undefined],
  ])('with %i and %j says that it is not from Gapless', (status, body) => {
    const error = apiErrorOf(status, body);
    expect(error.message).toBe(
      `${status} unknown the answer is not from Gapless: check the base url, and proxies in between`,
    );
    expect(error.problems).toEqual([]);
  });

  it.each([301, 302, 308])('with %i says that the base URL leads elsewhere', (status) => {
    expect(apiErrorOf(status, '<html>').message).toBe(
      `${status} unknown the base url answers with a redirect, which an API key must not follow: ` +
        'use the url that it leads to',
    );
  });
});
