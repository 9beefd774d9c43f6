import { describe, expect, it } from '@jest/globals';
import { isSecure } from './is-secure.js';

const by = (protocol: 'http' | 'https', forwarded?: string) => ({
  protocol,
  headers: forwarded === undefined ? {} : { 'x-forwarded-proto': forwarded },
});

const at = (publicUrl: string | null, byProxy = false) => ({ publicUrl, byProxy });

describe('isSecure', () => {
  it('is so by TLS, whatever else is said', () => {
    expect(isSecure(by('https', 'http'), at(null))).toBe(true);
  });

  it('believes a proxy where the service is known to be reached by https', () => {
    expect(isSecure(by('http', 'https'), at('https://gapless.example.com'))).toBe(true);
    expect(isSecure(by('http', 'HTTPS'), at('https://gapless.example.com'))).toBe(true);
    expect(isSecure(by('http', 'https, http'), at('https://gapless.example.com'))).toBe(true);
    expect(isSecure(by('http', 'http, https'), at('https://gapless.example.com'))).toBe(false);
    expect(isSecure(by('http'), at('https://gapless.example.com'))).toBe(false);
  });

  it.each([null, 'http://gapless.example.com'])('believes no header where it is not: %p', (publicUrl) => {
    expect(isSecure(by('http', 'https'), at(publicUrl))).toBe(false);
  });

  it('believes a trusted proxy, wherever the service is reached', () => {
    expect(isSecure(by('http', 'https'), at(null, true))).toBe(true);
    expect(isSecure(by('http', 'http'), at(null, true))).toBe(false);
    expect(isSecure(by('http'), at(null, true))).toBe(false);
  });
});
