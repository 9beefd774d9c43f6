import { describe, expect, it } from '@jest/globals';
import { parseNetworks, parsePorts } from '#libs/runtime';
import { endpointUrlRules, type EndpointUrlSettings } from './endpoint-url-rules.js';
import { checkEndpointUrl } from './endpoint-url.js';

const DEFAULTS: EndpointUrlSettings = {
  allowHttpUrls: false,
  allowedPrivateNetworks: [],
  deniedNetworks: [],
  allowedPorts: parsePorts('443,1024-65535'),
};

const check = (url: string, settings: Partial<EndpointUrlSettings> = {}) =>
  checkEndpointUrl(url, endpointUrlRules({ ...DEFAULTS, ...settings }));

describe('ports', () => {
  it.each([
    'https://example.com/',
    'https://example.com:443/',
    'https://example.com:1024/',
    'https://example.com:8443/',
  ])('are 443 and the unprivileged ones by default: %s', (url) => {
    expect(check(url)).toMatchObject({ ok: true });
  });

  it.each([22, 25, 80, 442, 1023])('of other services are refused: %d', (port) => {
    expect(check(`https://example.com:${port}/`)).toMatchObject({
      ok: false,
      code: 'url_invalid',
      detail: expect.stringContaining(String(port)) as unknown,
    });
  });

  it('include 80 where plain http is allowed, for http alone', () => {
    expect(check('http://example.com/', { allowHttpUrls: true })).toMatchObject({ ok: true });
    expect(check('http://example.com:80/', { allowHttpUrls: true })).toMatchObject({ ok: true });
    expect(check('https://example.com:80/', { allowHttpUrls: true })).toMatchObject({ ok: false });
    expect(check('http://example.com:22/', { allowHttpUrls: true })).toMatchObject({ ok: false });
  });

  it('are those of the setting', () => {
    expect(check('https://example.com:8443/', { allowedPorts: parsePorts('443') })).toMatchObject({ ok: false });
    expect(check('https://example.com:22/', { allowedPorts: parsePorts('443, 22') })).toMatchObject({ ok: true });
  });

  it.each([
    ['443,1024-65535', 'https://example.com:22/', 'port 22 is not allowed; use 443 or 1024 to 65535'],
    ['443', 'https://example.com:8443/', 'port 8443 is not allowed; use 443'],
    ['8443,9000-9002', 'https://example.com/', 'port 443 is not allowed; use 8443 or 9000 to 9002'],
  ])('that are allowed are named in a refusal: %s', (allowed, url, detail) => {
    expect(check(url, { allowedPorts: parsePorts(allowed) })).toMatchObject({ ok: false, detail });
  });
});

describe('denied networks', () => {
  const denied = { deniedNetworks: parseNetworks('8.8.8.0/24, 2a00:1450::/32') };

  it.each([
    'https://8.8.8.8/',
    'https://[::ffff:8.8.8.8]/',
    'https://[64:ff9b::8.8.8.8]/',
    'https://[2002:808:808::1]/',
    'https://[2a00:1450::1]/',
  ])('refuse their addresses in every form: %s', (url) => {
    expect(check(url, denied)).toMatchObject({ ok: false, code: 'url_private_network' });
  });

  it('refuse nothing else', () => {
    expect(check('https://8.8.4.4/', denied)).toMatchObject({ ok: true });
  });

  it('win over allowed ones', () => {
    const both = {
      allowedPrivateNetworks: parseNetworks('10.0.0.0/8'),
      deniedNetworks: parseNetworks('10.1.0.0/16'),
    };
    expect(check('https://10.0.0.1/', both)).toMatchObject({ ok: true });
    expect(check('https://10.1.0.1/', both)).toMatchObject({ ok: false });
  });
});
