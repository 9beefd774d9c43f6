import { describe, expect, it } from '@jest/globals';
import { requestIds } from './request-id.js';

describe('a request id', () => {
  const requestId = requestIds({ now: () => 1_700_000_000_000 });

  it('is the caller’s where that is usable', () => {
    expect(requestId({ headers: { 'x-request-id': 'trace-1:a.b_C' } })).toBe('trace-1:a.b_C');
  });

  it.each([undefined, '', 'with space', 'new\nline', '<script>', 'x'.repeat(129)])(
    'is a new ULID instead of %p',
    (given) => {
      const headers = given === undefined ? {} : { 'x-request-id': given };
      expect(requestId({ headers })).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    },
  );

  it('differs from request to request', () => {
    expect(requestId({ headers: {} })).not.toBe(requestId({ headers: {} }));
  });
});
