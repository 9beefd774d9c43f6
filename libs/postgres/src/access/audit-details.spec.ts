import { describe, expect, it } from '@jest/globals';
import { withApiNames, withoutTokens } from './audit-details.js';

describe('the details of an audit entry', () => {
  it.each([
    ['https://example.com/hooks?token=s3cret&v=2', 'https://example.com/hooks?…'],
    ['https://ada:s3cret@example.com:8443/hooks', 'https://example.com:8443/hooks'],
    ['https://example.com/@ada/hooks', 'https://example.com/@ada/hooks'],
    ['https://example.com/', 'https://example.com/'],
  ])('keep the host and the path of %s', (url, shown) => {
    expect(withoutTokens({ url, name: 'CRM', token_url: url })).toEqual({ url: shown, name: 'CRM', token_url: shown });
  });

  it('stay as they are without a url', () => {
    expect(withoutTokens({ seq: 5 })).toEqual({ seq: 5 });
  });

  it('have the names of the api', () => {
    expect(withApiNames({ maxPerSecond: 5, urgent: null })).toEqual({ max_per_second: 5, urgent: null });
  });
});
