import { describe, expect, it } from '@jest/globals';
import {
  changeHeaders,
  isReservedHeader,
  NO_CUSTOM_HEADERS,
  sentHeaders,
  shownHeaders,
  type CustomHeaders,
} from './custom-headers.js';

const BEFORE: CustomHeaders = { headers: { 'X-Tenant': 'acme', 'X-Env': 'prod' }, auth: null };

describe('custom headers', () => {
  it('are changed one by one, whatever the case of their names', () => {
    expect(changeHeaders(BEFORE, { headers: { 'x-tenant': 'other', 'X-Env': null, 'X-New': '1' } })).toEqual({
      ok: true,
      custom: { headers: { 'x-tenant': 'other', 'X-New': '1' }, auth: null },
    });
    expect(changeHeaders(BEFORE, {})).toEqual({ ok: true, custom: BEFORE });
    expect(changeHeaders(BEFORE, { headers: null })).toEqual({ ok: true, custom: NO_CUSTOM_HEADERS });
  });

  it('authenticate by RFC 7617 and RFC 6750', () => {
    const basic = { type: 'basic', username: 'Aladdin', password: 'open sesame' } as const;
    expect(sentHeaders({ headers: {}, auth: basic })).toEqual({ authorization: 'Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==' });
    expect(sentHeaders({ headers: { 'X-A': '1' }, auth: { type: 'bearer', token: 'abc' } })).toEqual({
      'x-a': '1',
      authorization: 'Bearer abc',
    });
  });

  it('show names, never values', () => {
    const auth = { type: 'bearer', token: 'hidden' } as const;
    expect(shownHeaders({ ...BEFORE, auth })).toEqual({ names: ['X-Tenant', 'X-Env'], auth: 'bearer' });
    const client = { token_url: 'https://id.example/token', client_id: 'gapless', audience: 'api' };
    const oauth2 = { ...client, type: 'oauth2', client_secret: 'hidden' } as const;
    expect(shownHeaders({ ...BEFORE, auth: oauth2 })).toEqual({
      names: ['X-Tenant', 'X-Env'],
      auth: 'oauth2',
      oauth2: { ...client, scope: null, client_auth: 'basic' },
    });
    const other = { ...client, scope: 'push', client_auth: 'body' } as const;
    expect(shownHeaders({ ...BEFORE, auth: { ...oauth2, ...other } })).toMatchObject({ oauth2: other });
  });

  it('hold no token that is fetched, and no other header in its place', () => {
    const auth = { type: 'oauth2', token_url: 'https://a', client_id: 'c', client_secret: 's' } as const;
    expect(sentHeaders({ headers: { 'X-A': '1' }, auth })).toEqual({ 'x-a': '1' });
    const both = { headers: { Authorization: 'Token 1' }, auth };
    expect(changeHeaders(NO_CUSTOM_HEADERS, both)).toMatchObject({ ok: false, member: 'auth' });
  });

  it('stay beside a client certificate, which is replaced or removed as a whole', () => {
    const certificate = { certificate: 'c', private_key: 'k' };
    expect(changeHeaders(BEFORE, { certificate })).toEqual({ ok: true, custom: { ...BEFORE, certificate } });
    const custom = { ...BEFORE, certificate };
    expect(changeHeaders(custom, { headers: null })).toEqual({
      ok: true,
      custom: { ...NO_CUSTOM_HEADERS, certificate },
    });
    expect(changeHeaders(custom, { certificate: null })).toEqual({ ok: true, custom: BEFORE });
    expect(sentHeaders(custom)).toEqual(sentHeaders(BEFORE));
  });

  it('are refused beyond their limits', () => {
    const many = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${from + index}`, '1']));
    const twenty = changeHeaders(NO_CUSTOM_HEADERS, { headers: many(0, 20) });
    expect(twenty.ok).toBe(true);
    const custom = { headers: many(0, 20), auth: null };
    expect(changeHeaders(custom, { headers: many(20, 1) })).toMatchObject({ ok: false, member: 'headers' });
    expect(changeHeaders(custom, { headers: { 'X-0': null, 'X-20': '1' } }).ok).toBe(true);
    const long = Object.fromEntries(Object.keys(many(0, 7)).map((name) => [name, 'v'.repeat(1_000)]));
    expect(changeHeaders(NO_CUSTOM_HEADERS, { headers: long })).toMatchObject({ ok: false, member: 'headers' });
    const ofBytes = (count: number) => ({ headers: { 'X-A': 'v'.repeat(count - 'X-A'.length) } });
    expect(changeHeaders(NO_CUSTOM_HEADERS, ofBytes(6_144)).ok).toBe(true);
    expect(changeHeaders(NO_CUSTOM_HEADERS, ofBytes(6_145))).toMatchObject({ ok: false, member: 'headers' });
    expect(changeHeaders(NO_CUSTOM_HEADERS, { headers: { Authorization: 'Token 1' } }).ok).toBe(true);
    const both = { headers: { Authorization: 'Token 1' }, auth: { type: 'bearer', token: 'a' } } as const;
    expect(changeHeaders(NO_CUSTOM_HEADERS, both)).toMatchObject({ ok: false, member: 'auth' });
  });

  it.each(['Host', 'Content-Length', 'X-Service-Signature', 'webhook-id', 'Proxy-Authorization', 'Transfer-Encoding'])(
    'may not be %s',
    (name) => {
      expect(isReservedHeader(name)).toBe(true);
    },
  );

  it.each(['Authorization', 'X-Api-Key', 'Accept', 'X-Webhooks-Tenant'])('may be %s', (name) => {
    expect(isReservedHeader(name)).toBe(false);
  });
});
