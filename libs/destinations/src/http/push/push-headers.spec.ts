import { createHmac, generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  deliveryIdOf,
  isReservedHeader,
  parseEndpointId,
  parseEventId,
  parseOrgId,
  VERSION,
  type DueAttempt,
  type Seq,
} from '#libs/domain';
import { publicKeysOf, verifySignature, verifyStandardSignature } from '#libs/webhook-signature';
import { Webhook } from 'standardwebhooks';
import { pushHeaders } from './push-headers.js';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKY0=';
const NOW_MS = 1_750_000_000_999;
const eventId = parseEventId('evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG')!;
const endpointId = parseEndpointId(`whe_${'E'.repeat(26)}`)!;
const DUE: DueAttempt = {
  delivery: {
    deliveryId: deliveryIdOf(eventId, endpointId),
    endpointId,
    orgId: parseOrgId('0f8fad5b-d9cb-469f-a165-70867728950e')!,
    eventId,
    event: 'ticket.created',
    seq: 4128 as Seq,
    createdAtMs: 1,
  },
  run: 0,
  attempt: 3,
  dueAtMs: 1,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  envelope: Buffer.from('{"data":{ "n": 1.0, "t": "ä" }}'),
};

function hmac(message: string): string {
  return createHmac('sha256', SECRET).update(message).digest('hex');
}

describe('pushHeaders', () => {
  it('have a signature of each secret while one replaces another', () => {
    const previous = 'whsec_b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90aGVyb3Q=';
    const [both, ofNew, ofOld] = [
      pushHeaders(DUE, SECRET, NOW_MS, previous),
      pushHeaders(DUE, SECRET, NOW_MS),
      pushHeaders(DUE, previous, NOW_MS),
    ];
    const v1 = (headers: Record<string, string>) => headers['x-service-signature']!.split(',')[1]!;
    expect(both['x-service-signature']).toBe(`t=1750000000,${v1(ofNew)},${v1(ofOld)}`);
    expect(both['webhook-signature']).toBe(`${ofNew['webhook-signature']} ${ofOld['webhook-signature']}`);
    expect(both['x-webhook-signature']).toBe(ofOld['x-webhook-signature']);
  });

  it('are those of contract 6.1, and no others', () => {
    const headers = pushHeaders(DUE, SECRET, NOW_MS);
    const body = DUE.envelope.toString();
    expect(headers).toEqual({
      'content-type': 'application/json',
      'user-agent': `Gapless/${VERSION}`,
      'x-service-signature': `t=1750000000,v1=${hmac(`1750000000.${body}`)}`,
      'x-service-event': 'ticket.created',
      'x-service-event-id': eventId,
      'x-service-delivery-id': DUE.delivery.deliveryId,
      'x-service-sequence': '4128',
      'x-service-attempt': '3',
      'x-webhook-signature': hmac(body),
      'webhook-id': eventId,
      'webhook-timestamp': '1750000000',
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/) as unknown,
      traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/) as unknown,
    });
  });

  it.each([
    [undefined, undefined],
    [null, undefined],
    [-1, undefined],
    [0, '0'],
    [4120, '4120'],
  ])('name the event before this one, %s, as %s', (previousSeq, value) => {
    const chained = { ...DUE, delivery: { ...DUE.delivery, ...(previousSeq === undefined ? {} : { previousSeq }) } };
    expect(pushHeaders(chained, SECRET, NOW_MS)['x-service-previous-sequence']).toBe(value);
    expect(isReservedHeader('X-Service-Previous-Sequence')).toBe(true);
  });

  it('are what a consumer verifies, and only with the secret and the bytes that were signed', () => {
    const header = pushHeaders(DUE, SECRET, NOW_MS)['x-service-signature'];
    const now = Math.floor(NOW_MS / 1_000);
    expect(verifySignature({ body: DUE.envelope, header, secret: SECRET, now })).toEqual({
      valid: true,
      timestamp: now,
    });
    expect(verifySignature({ body: DUE.envelope, header, secret: 'whsec_b3RoZXI=', now })).toMatchObject({
      valid: false,
    });
    expect(verifySignature({ body: '{"data":{"n":1,"t":"ä"}}', header, secret: SECRET, now })).toMatchObject({
      valid: false,
    });
  });

  it('are what a Standard Webhooks library verifies', () => {
    const headers = pushHeaders(DUE, SECRET, Date.now());
    expect(new Webhook(SECRET).verify(DUE.envelope.toString(), headers)).toEqual({ data: { n: 1, t: 'ä' } });
    expect(() => new Webhook(SECRET).verify('{}', headers)).toThrow();
  });

  it('have a v1a signature of each signing key beside v1, which Node and the consumer verify', () => {
    const [key, old] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
    const signingKeys = [key.privateKey, old.privateKey];
    const nowMs = Date.now();
    const headers = pushHeaders(DUE, SECRET, nowMs, null, { signingKeys });
    const [v1, ...v1a] = headers['webhook-signature']!.split(' ');
    expect(v1).toBe(pushHeaders(DUE, SECRET, nowMs)['webhook-signature']);
    const message = Buffer.from(`${eventId}.${Math.floor(nowMs / 1_000)}.${DUE.envelope.toString()}`);
    for (const [index, { publicKey }] of [key, old].entries()) {
      expect(v1a[index]).toMatch(/^v1a,/);
      expect(verify(null, message, publicKey, Buffer.from(v1a[index]!.slice(4), 'base64'))).toBe(true);
      const keys = publicKeysOf({ keys: [publicKey.export({ format: 'jwk' })] });
      const header = (name: string) => headers[name];
      expect(verifyStandardSignature({ body: DUE.envelope, header, keys }).valid).toBe(true);
    }
    // A library that knows only v1 passes over the rest.
    expect(new Webhook(SECRET).verify(DUE.envelope.toString(), headers)).toBeTruthy();
  });

  it('are those that an endpoint cannot choose', () => {
    expect(Object.keys(pushHeaders(DUE, SECRET, NOW_MS)).filter((name) => !isReservedHeader(name))).toEqual([]);
  });

  it('have the additional headers of the endpoint, and no legacy signature if it wants none', () => {
    const usual = pushHeaders(DUE, SECRET, NOW_MS);
    const rest = Object.fromEntries(Object.entries(usual).filter(([name]) => name !== 'x-webhook-signature'));
    const choices = {
      settings: { legacySignature: false },
      headers: { 'x-tenant': 'acme', authorization: 'Bearer 1' },
    };
    expect(pushHeaders(DUE, SECRET, NOW_MS, null, choices)).toEqual({ ...rest, ...choices.headers });
    expect(pushHeaders(DUE, SECRET, NOW_MS, null, { settings: {} })).toEqual(usual);
  });

  it('have a fresh timestamp and signature for each attempt, of a replay too', () => {
    const before = pushHeaders(DUE, SECRET, NOW_MS);
    const replay = pushHeaders({ ...DUE, run: 1, attempt: 1 }, SECRET, NOW_MS + 5_000);
    expect(replay['x-service-attempt']).toBe('1');
    expect(replay['x-service-signature']).toMatch(/^t=1750000005,/);
    expect(replay['x-service-signature']).not.toBe(before['x-service-signature']);
    expect(replay['x-service-delivery-id']).toBe(before['x-service-delivery-id']);
  });

  describe('traceparent', () => {
    const traceOf = (due: DueAttempt) => pushHeaders(due, SECRET, NOW_MS)['traceparent']!.split('-');

    it("goes on with the event's trace, in a span of the attempt's own", () => {
      const [, trace, span, flags] = traceOf(DUE);
      expect([trace, flags]).toEqual(['0af7651916cd43dd8448eb211c80319c', '01']);
      expect(span).not.toBe('b7ad6b7169203331');
      expect(traceOf(DUE)[2]).toBe(span);
      expect(traceOf({ ...DUE, attempt: 4 })[2]).not.toBe(span);
      expect(traceOf({ ...DUE, run: 1 })[2]).not.toBe(span);
    });

    it.each([null, '', 'nonsense', '00-xyz-b7ad6b7169203331-01'])(
      'begins a trace of the event when that came with %s',
      (traceparent) => {
        const [version, trace, span, flags] = traceOf({ ...DUE, traceparent });
        expect([version, flags]).toEqual(['00', '00']);
        expect(trace).toMatch(/^[0-9a-f]{32}$/);
        expect(span).toMatch(/^[0-9a-f]{16}$/);
        expect(traceOf({ ...DUE, traceparent, attempt: 4 })[1]).toBe(trace);
      },
    );
  });
});
