import { describe, expect, it } from '@jest/globals';
import {
  deliveryChange,
  deliveryDraft,
  headersProblem,
  isUnusual,
  USUAL_DELIVERY,
  type ShownDelivery,
} from './delivery-draft.js';

const SHOWN: ShownDelivery = {
  ...USUAL_DELIVERY,
  header_names: ['X-Tenant'],
  auth_type: 'basic',
  max_per_second: 5,
  legacy_signature: false,
};

describe('the delivery settings of the form', () => {
  it.each([USUAL_DELIVERY, SHOWN])('change nothing until somebody changes them', (shown) => {
    expect(deliveryChange(deliveryDraft(shown), shown)).toEqual({});
  });

  it('send only what was changed', () => {
    const draft = { ...deliveryDraft(SHOWN), maxPerSecond: '', maxInFlight: '3', isAsymmetric: true };
    expect(deliveryChange(draft, SHOWN)).toEqual({
      max_per_second: null,
      max_in_flight: 3,
      signatures: ['hmac', 'ed25519'],
    });
  });

  it.each(['20/s', '1,5', 'ten', '1e999', 'Infinity', 'NaN'])(
    'send %j as it is, because it must not remove a limit',
    (text) => {
      const change = deliveryChange({ ...deliveryDraft(SHOWN), maxPerSecond: text, maxInFlight: text }, SHOWN);
      expect(JSON.parse(JSON.stringify(change))).toEqual({ max_per_second: text, max_in_flight: text });
    },
  );

  it('change the order and the events of a request together', () => {
    const draft = deliveryDraft(USUAL_DELIVERY);
    expect(deliveryChange({ ...draft, orderedBy: 'subject', batch: '250' }, USUAL_DELIVERY)).toEqual({
      ordering: { by: 'subject', batch: 250 },
    });
    const shown = { ...USUAL_DELIVERY, ordering: { by: 'endpoint', batch: 9 } } as const;
    expect(isUnusual(shown)).toBe(true);
    expect(deliveryChange({ ...deliveryDraft(shown), orderedBy: 'none' }, shown)).toEqual({
      ordering: { by: 'none', batch: 1 },
    });
  });

  it('choose urgent types, none or the usual ones', () => {
    const draft = deliveryDraft(USUAL_DELIVERY);
    expect(deliveryChange({ ...draft, urgency: 'none' }, USUAL_DELIVERY)).toEqual({ urgent: [] });
    const chosen = { ...draft, urgency: 'chosen', urgentTypes: ['ticket.sla_breach'] } as const;
    expect(deliveryChange(chosen, USUAL_DELIVERY)).toEqual({ urgent: ['ticket.sla_breach'] });
    const shown: ShownDelivery = { ...USUAL_DELIVERY, urgent: ['ticket.sla_breach'] };
    expect(isUnusual(shown)).toBe(true);
    expect(deliveryChange({ ...deliveryDraft(shown), urgency: 'usual' }, shown)).toEqual({ urgent: null });
  });

  it('switch the previous sequence on and off', () => {
    const on: ShownDelivery = { ...USUAL_DELIVERY, previous_sequence: true };
    expect(isUnusual(on)).toBe(true);
    expect(deliveryChange({ ...deliveryDraft(on), sendsPreviousSequence: false }, on)).toEqual({
      previous_sequence: false,
    });
  });

  it('set, replace and remove the filter', () => {
    const shown = { ...SHOWN, filter: 'event.seq > 1' };
    const draft = deliveryDraft(shown);
    expect(deliveryChange({ ...draft, filter: 'event.seq > 2' }, shown)).toEqual({ filter: 'event.seq > 2' });
    expect(deliveryChange({ ...draft, filter: ' ' }, shown)).toEqual({ filter: null });
    expect(isUnusual({ ...USUAL_DELIVERY, filter: 'event.seq > 1' })).toBe(true);
  });

  it('set and remove headers line by line', () => {
    const headers = 'X-Env: prod:1\n\n x-tenant :  \n';
    expect(deliveryChange({ ...deliveryDraft(SHOWN), headers }, SHOWN)).toEqual({
      headers: { 'X-Env': 'prod:1', 'x-tenant': null },
    });
  });

  it('take a header without a value only to remove one that is sent', () => {
    const problem = 'Write each line as “Name: value”.';
    expect(headersProblem('X-Env: prod\nx-tenant', SHOWN)).toBeUndefined();
    expect(headersProblem('X-Env prod\nx-tenant', SHOWN)).toBe(problem);
    expect(headersProblem('X-Tenant:', USUAL_DELIVERY)).toBe(problem);
    expect(headersProblem('\nX-Tenant: acme\n', USUAL_DELIVERY)).toBeUndefined();
  });

  it('set, replace and remove the authentication', () => {
    const draft = deliveryDraft(SHOWN);
    expect(draft.auth).toBe('unchanged');
    expect(deliveryChange({ ...draft, auth: 'none' }, SHOWN)).toEqual({ auth: null });
    expect(deliveryChange({ ...draft, auth: 'bearer', secret: 'abc' }, SHOWN)).toEqual({
      auth: { type: 'bearer', token: 'abc' },
    });
    const basic = { ...deliveryDraft(USUAL_DELIVERY), auth: 'basic', username: 'u', secret: 'p' } as const;
    expect(deliveryChange(basic, USUAL_DELIVERY)).toEqual({ auth: { type: 'basic', username: 'u', password: 'p' } });
  });

  it('set, replace and remove the client certificate', () => {
    const client_certificate = { subject: 'CN=a', fingerprint: 'AB', expires_at: '2027-01-02T03:04:05.000Z' };
    const shown: ShownDelivery = { ...USUAL_DELIVERY, client_certificate };
    const draft = deliveryDraft(shown);
    expect(isUnusual(shown)).toBe(true);
    expect(deliveryChange(draft, shown)).toEqual({});
    expect(deliveryChange({ ...draft, certificate: 'c', privateKey: 'k' }, shown)).toEqual({
      client_certificate: { certificate: 'c', private_key: 'k' },
    });
    expect(deliveryChange({ ...draft, removesCertificate: true }, shown)).toEqual({ client_certificate: null });
  });

  it('keep a certificate that was typed, and no key without one', () => {
    const draft = { ...deliveryDraft(USUAL_DELIVERY), privateKey: 'k' };
    expect(deliveryChange({ ...draft, certificate: 'c', removesCertificate: true }, USUAL_DELIVERY)).toEqual({
      client_certificate: { certificate: 'c', private_key: 'k' },
    });
    expect(deliveryChange({ ...draft, certificate: ' ' }, USUAL_DELIVERY)).toEqual({});
  });

  it('set OAuth 2 with all that was typed, and show what is known of it', () => {
    const oauth2 = {
      token_url: 'https://id.example/token',
      client_id: 'gapless',
      scope: 'push',
      audience: 'orders',
      client_auth: 'body',
    } as const;
    const shown: ShownDelivery = { ...USUAL_DELIVERY, auth_type: 'oauth2', oauth2 };
    const draft = deliveryDraft(shown);
    expect(deliveryChange(draft, shown)).toEqual({});
    expect(deliveryChange({ ...draft, auth: 'oauth2', secret: 's' }, shown)).toEqual({
      auth: { type: 'oauth2', ...oauth2, client_secret: 's' },
    });
    const other = {
      ...draft,
      auth: 'oauth2',
      secret: 's',
      scope: ' ',
      audience: 'api',
      isSecretInBody: false,
    } as const;
    expect(deliveryChange(other, shown)).toEqual({
      auth: {
        type: 'oauth2',
        token_url: 'https://id.example/token',
        client_id: 'gapless',
        client_secret: 's',
        audience: 'api',
      },
    });
  });

  it('are folded unless the endpoint has some', () => {
    expect(isUnusual(USUAL_DELIVERY)).toBe(false);
    expect(isUnusual(SHOWN)).toBe(true);
    expect(isUnusual({ ...USUAL_DELIVERY, header_names: ['X-A'] })).toBe(true);
  });
});
