import { describe, expect, it } from '@jest/globals';
import { readNewKeyRequest } from './new-key-request.js';

const ORG = '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001';
const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

describe('keys create', () => {
  it('makes a key of an org that expires after the given time', () => {
    const flags = { org: ORG.toUpperCase(), scopes: 'events:read, webhooks:write', expires: '90d', name: 'Billing' };
    expect(readNewKeyRequest(flags, NOW_MS)).toEqual({
      orgId: ORG,
      name: 'Billing',
      scopes: ['events:read', 'webhooks:write'],
      expiresAt: new Date('2026-04-01T00:00:00Z'),
    });
  });

  it.each([{ scopes: 'events:write' }, { scopes: 'events:write', service: true }])(
    'makes a service key that does not expire: %p',
    (flags) => {
      expect(readNewKeyRequest(flags, NOW_MS)).toEqual({
        orgId: null,
        name: null,
        scopes: ['events:write'],
        expiresAt: null,
      });
    },
  );

  it('makes a service key that manages organizations and their keys', () => {
    const scopes = ['orgs:write', 'keys:write'];
    expect(readNewKeyRequest({ scopes: scopes.join() }, NOW_MS)).toMatchObject({ orgId: null, scopes });
  });

  it.each([
    [{ org: 'acme', scopes: 'events:read' }, /--org acme: expected a UUID/],
    [{ org: ORG, service: true, scopes: 'events:write' }, /exclude each other/],
    [{ org: ORG, scopes: 'events:delete' }, /unknown scope events:delete/],
    [{ org: ORG, scopes: '' }, /a scope is empty/],
    [{ org: ORG, scopes: 'orgs:write' }, /only a service key can have orgs:write/],
    [{ scopes: 'events:read' }, /a service key cannot have events:read/],
    [{ org: ORG, scopes: 'events:read', name: ' ' }, /--name: expected 1 to 120 characters/],
    [{ org: ORG, scopes: 'events:read', name: 'x'.repeat(121) }, /--name: expected/],
    [{ org: ORG, scopes: 'events:read', name: 'a\u001b[2K' }, /--name: expected/],
    [{ org: ORG, scopes: 'events:read', name: 'a\u200bb' }, /--name: it must not hold invisible characters/],
    [{ org: ORG, scopes: 'events:read', expires: 'soon' }, /--expires soon/],
    [{ org: ORG, scopes: 'events:read', expires: '999999999d' }, /--expires 999999999d/],
  ])('refuses %p', (flags, message) => {
    expect(() => readNewKeyRequest(flags, NOW_MS)).toThrow(message);
  });
});
