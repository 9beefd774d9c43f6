import { describe, expect, it } from '@jest/globals';
import { NotFoundException, PayloadTooLargeException } from '@nestjs/common';
import { ERROR_CODES, GaplessError } from '#libs/domain';
import { commitError, isPostgresAway } from '#libs/postgres';
import { failureOf } from './failure.js';
import { PROBLEM_TYPES } from './problem-types.js';
import { problemOf } from './problem.js';

const nothingIsAway = () => false;

function statusAndCode(error: unknown, isUnavailable: (error: unknown) => boolean = nothingIsAway) {
  const { status, code } = problemOf(failureOf(error, isUnavailable), { id: 'r1', url: '/a' });
  return [status, code];
}

describe('a failure of a request', () => {
  it.each([
    ['malformed_request', 400],
    ['missing_api_key', 401],
    ['invalid_api_key', 401],
    ['insufficient_scope', 403],
    ['not_found', 404],
    ['endpoint_inactive', 409],
    ['delivery_not_pending', 409],
    ['method_not_allowed', 405],
    ['endpoint_limit_reached', 409],
    ['api_key_limit_reached', 409],
    ['cursor_limit_reached', 409],
    ['recovery_limit_reached', 409],
    ['cursor_conflict', 409],
    ['event_pruned', 409],
    ['idempotency_conflict', 409],
    ['payload_too_large', 413],
    ['unsupported_media_type', 415],
    ['validation_failed', 422],
    ['unknown_event_type', 422],
    ['url_not_https', 422],
    ['url_private_network', 422],
    ['url_unresolvable', 422],
    ['url_invalid', 422],
    ['rate_limited', 429],
    ['unavailable', 503],
  ] as const)('%s is answered with %i (contract 8)', (code, status) => {
    expect(statusAndCode(new GaplessError(code, 'x'))).toEqual([status, code]);
  });

  it('has a status for every code there is', () => {
    expect(Object.keys(PROBLEM_TYPES).sort()).toEqual([...ERROR_CODES, 'internal_error'].sort());
  });

  it('has our code, and not the words of the framework, if the framework refused the request', () => {
    expect(statusAndCode(new NotFoundException('Cannot GET /etc'))).toEqual([404, 'not_found']);
    expect(statusAndCode(new PayloadTooLargeException('x'))).toEqual([413, 'payload_too_large']);
    expect(statusAndCode(Object.assign(new Error('x'), { statusCode: 415 }))).toEqual([415, 'unsupported_media_type']);
    expect(failureOf(new NotFoundException('Cannot GET /etc'), nothingIsAway).detail).not.toContain('/etc');
  });

  it('keeps the status of HTTP where that is more exact', () => {
    expect(statusAndCode(Object.assign(new Error('x'), { statusCode: 414 }))).toEqual([414, 'malformed_request']);
  });

  it('is 503 with a time to come back when a server behind us is away', () => {
    const failure = failureOf(new Error('connect ECONNREFUSED 10.1.2.3:5432'), () => true);
    expect(failure.code).toBe('unavailable');
    expect(failure.retryAfterSeconds).toBeGreaterThan(0);
    expect(failure.detail).not.toContain('10.1.2.3');
  });

  it('does not say that nothing was changed if a statement took too long, or a commit was not confirmed', () => {
    const tooSlow = new Error('Query read timeout');
    const [slow, lost] = [tooSlow, commitError(tooSlow)].map((error) => failureOf(error, isPostgresAway));
    expect([slow?.code, lost?.code]).toEqual(['unavailable', 'unavailable']);
    expect(slow?.detail).toMatch(/took too long/);
    expect(lost?.detail).toMatch(/not known whether the change was made/);
    for (const failure of [slow, lost]) expect(failure?.retryAfterSeconds).toBeGreaterThan(0);
  });

  it.each(['GET', 'HEAD'])('does not speak of a change if the request was a %s', (method) => {
    const failure = failureOf(commitError(new Error('Query read timeout')), isPostgresAway, method);
    expect(failure.code).toBe('unavailable');
    expect(failure.detail).toMatch(/Nothing was changed/);
  });

  it('leaks nothing of what nobody expected', () => {
    const failure = failureOf(new Error('syntax error at or near "select * from secrets"'), nothingIsAway);
    expect(failure.code).toBe('internal_error');
    expect(JSON.stringify(failure)).not.toContain('secrets');
    expect(statusAndCode('a string')).toEqual([500, 'internal_error']);
  });
});

describe('problem+json', () => {
  it('has the members of contract 8, and errors only where places are at fault', () => {
    const problems = [{ pointer: '#/url', code: 'required', detail: 'is required' }];
    const request = { id: '01K', url: '/api/v1/external/webhooks?secret=1' };
    expect(
      problemOf(failureOf(new GaplessError('validation_failed', 'no', { problems }), nothingIsAway), request),
    ).toEqual({
      type: '/problems/validation_failed',
      title: 'The request is not valid',
      status: 422,
      detail: 'no',
      instance: '/api/v1/external/webhooks',
      code: 'validation_failed',
      request_id: '01K',
      errors: problems,
    });
    expect(problemOf(failureOf(new GaplessError('not_found', 'no'), nothingIsAway), request)).not.toHaveProperty(
      'errors',
    );
  });
});
