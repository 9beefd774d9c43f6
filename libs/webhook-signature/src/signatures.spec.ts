import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { legacySignature, serviceSignature, standardWebhooksSignature } from './index.js';

/** Digests that `openssl dgst -sha256 -hmac` made of these. */
const SECRET = 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=';
const ID = 'evt_01JABCDEFGHJKMNPQRSTVWXYZ0';
const TIMESTAMP = 1_700_000_000;
const BODY = Buffer.from(`{"id":"${ID}","seq":4128,"event":"lead.created","data":{"name":"Zoë"}}`);

describe('serviceSignature', () => {
  it('is t and the hex HMAC of "<t>.<raw body>", keyed by the whole secret', () => {
    expect(serviceSignature(SECRET, TIMESTAMP, BODY)).toBe(
      't=1700000000,v1=3bd92695cfe4792e5033aa3254809599bf1496454febac0fc30439f5f0cab3e2',
    );
  });
});

describe('legacySignature', () => {
  it('is the hex HMAC of the raw body, keyed by the whole secret', () => {
    expect(legacySignature(SECRET, BODY)).toBe('60cf67619ab97d393467d7e899cf961b35f2488238418d442ceb7e2b2ba983d6');
  });
});

describe('standardWebhooksSignature', () => {
  it('is v1 and the base64 HMAC of "<id>.<t>.<raw body>", keyed by what the secret encodes', () => {
    expect(standardWebhooksSignature(SECRET, ID, TIMESTAMP, BODY)).toBe(
      'v1,ydoHE3YDPs4lowPGo02FSdJ71+4VkZ3QvbLdfOYCx3c=',
    );
  });

  it('is what the Standard Webhooks library signs', () => {
    const secret = fc.uint8Array({ minLength: 24, maxLength: 64 });
    const seconds = fc.integer({ min: 0, max: 4_000_000_000 });
    fc.assert(
      fc.property(secret, fc.stringMatching(/^evt_[0-9A-Za-z]{16,64}$/), seconds, fc.string(), (key, id, t, body) => {
        const whsec = `whsec_${Buffer.from(key).toString('base64')}`;
        expect(standardWebhooksSignature(whsec, id, t, Buffer.from(body))).toBe(
          new Webhook(whsec).sign(id, new Date(t * 1000), body),
        );
      }),
    );
  });

  it('verifies with the Standard Webhooks library', () => {
    const now = Math.floor(Date.now() / 1000);
    const headers = {
      'webhook-id': ID,
      'webhook-timestamp': String(now),
      'webhook-signature': standardWebhooksSignature(SECRET, ID, now, BODY),
    };
    expect(new Webhook(SECRET).verify(BODY, headers)).toMatchObject({ id: ID });
    expect(() => new Webhook(SECRET).verify(`${BODY.toString()} `, headers)).toThrow();
  });
});
