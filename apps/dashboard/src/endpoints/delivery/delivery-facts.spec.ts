import { describe, expect, it } from '@jest/globals';
import { isUnusual, USUAL_DELIVERY, type ShownDelivery } from './delivery-draft.js';
import { deliveryFacts } from './delivery-facts.js';

const UNUSUAL: ShownDelivery = {
  header_names: ['X-Tenant', 'X-Stage'],
  auth_type: 'oauth2',
  oauth2: {
    token_url: 'https://id.example/token',
    client_id: 'gapless',
    scope: 'push',
    audience: 'orders',
    client_auth: 'body',
  },
  client_certificate: { subject: 'CN=gapless', fingerprint: 'AB:CD', expires_at: '2027-01-02T03:04:05.000Z' },
  legacy_signature: false,
  signatures: ['hmac', 'ed25519'],
  respect_retry_after: true,
  disable_on_gone: true,
  max_per_second: 5,
  max_in_flight: 1_000,
  ordering: { by: 'subject', batch: 20 },
  urgent: ['ticket.created', 'lead.created'],
  previous_sequence: true,
  filter: 'event.seq > 3',
};

describe('the delivery settings', () => {
  it('are left out where they are the defaults', () => {
    expect(deliveryFacts(USUAL_DELIVERY)).toEqual([]);
  });

  it('are all shown where they differ', () => {
    const texts = deliveryFacts(UNUSUAL).map(({ name, text }) => `${name}: ${text}`);
    expect(texts).toEqual([
      'Filter: event.seq > 3',
      'Pace: At most 5 per second, 1,000 at the same time',
      'Order: By subject',
      'Batch: Up to 20 events in a request',
      'Urgent: ticket.created, lead.created',
      'Retry-After: Respected',
      '410 Gone: Disables the endpoint',
      'Signatures: Ed25519 too, no X-Webhook-Signature',
      'Previous sequence: Sent',
      'Headers: X-Tenant, X-Stage',
      'Authorization: OAuth 2: gapless at https://id.example/token, scope push, audience orders, client secret in the body',
      'Client certificate: CN=gapless, SHA-256 AB:CD, expires 2027-01-02',
    ]);
  });

  it.each([
    ['basic', 'Basic'],
    ['bearer', 'Bearer'],
    // A process of an earlier version has changed the endpoint.
    ['oauth2', 'OAuth 2'],
  ] as const)('name authentication of the kind %s', (auth_type, text) => {
    expect(deliveryFacts({ ...USUAL_DELIVERY, auth_type })).toEqual([{ name: 'Authorization', text }]);
  });

  // The client of OAuth 2 comes with its type.
  const alone = Object.keys(UNUSUAL).filter((name) => name !== 'oauth2');
  it.each(alone as (keyof ShownDelivery)[])('show %s by itself', (name) => {
    const shown = { ...USUAL_DELIVERY, [name]: UNUSUAL[name] };
    expect(isUnusual(shown)).toBe(true);
    expect(deliveryFacts(shown).length).toBeGreaterThan(0);
  });
});
