import { describe, expect, it } from '@jest/globals';
import { isWebUrl } from './web-url.js';

describe('a link to a conversation', () => {
  it.each(['https://agents.example.com/c/1', 'http://localhost:8080/c/1'])('may lead to the web: %s', (url) => {
    expect(isWebUrl(url)).toBe(true);
  });

  it.each([
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'blob:https://example.com/1',
    '/relative',
    '',
  ])('leads nowhere else: %j', (url) => {
    expect(isWebUrl(url)).toBe(false);
  });
});
