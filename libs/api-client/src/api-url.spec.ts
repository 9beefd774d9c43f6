import { describe, expect, it } from '@jest/globals';
import { apiUrlOf } from './api-url.js';

describe('the URL of the API', () => {
  it.each([
    ['https://gapless.example', 'https://gapless.example/api/v1'],
    ['https://gapless.example/', 'https://gapless.example/api/v1'],
    ['https://gapless.example/api/v1', 'https://gapless.example/api/v1'],
    ['https://gapless.example/api/v1/', 'https://gapless.example/api/v1'],
    ['http://localhost:3000/events/api/v1', 'http://localhost:3000/events/api/v1'],
    ['http://localhost:3000/events', 'http://localhost:3000/events/api/v1'],
  ])('of %s is %s', (baseUrl, url) => {
    expect(apiUrlOf(baseUrl)).toBe(url);
  });

  it.each(['', 'gapless.example', 'localhost:3000', 'ftp://gapless.example'])('does not exist for %j', (baseUrl) => {
    expect(() => apiUrlOf(baseUrl)).toThrow(`baseUrl is not an http or https URL: ${baseUrl}`);
  });
});
