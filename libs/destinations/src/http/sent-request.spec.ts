import { describe, expect, it } from '@jest/globals';
import { deliveryIdOf, type DatedTarget, type EndpointId, type EventId, type OrgId, type Seq } from '#libs/domain';
import type { AttemptedDelivery } from '../destination-kind.js';
import { pushHeaders, SIGNATURE_HEADERS } from './push/push-headers.js';
import { sentRequest } from './sent-request.js';

const AT = new Date('2026-06-01T12:00:00.750Z');
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKY0=';
const ENVELOPE = '{"data":{ "n": 1.0, "t": "ä" }}';
const eventId = 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG' as EventId;
const endpointId = `whe_${'E'.repeat(26)}` as EndpointId;

const target = (change: Partial<DatedTarget> = {}): DatedTarget => ({
  url: 'https://example.com/hook',
  urlChangedAt: null,
  secret: SECRET,
  secretChangedAt: null,
  previousSecret: null,
  previousSecretUntil: null,
  settings: {},
  shownHeaders: null,
  settingsChangedAt: null,
  ...change,
});

function aDelivery(change: Partial<AttemptedDelivery> = {}): AttemptedDelivery {
  const entry = { run: 0, leadMs: 0, batch: null };
  return {
    delivery: {
      deliveryId: deliveryIdOf(eventId, endpointId),
      endpointId,
      orgId: '0f8fad5b-d9cb-469f-a165-70867728950e' as OrgId,
      eventId,
      event: 'ticket.created',
      seq: 4128 as Seq,
      createdAtMs: AT.getTime() - 60_000,
    },
    attemptsLog: [
      { ...entry, attempt: 1, at: new Date(AT.getTime() - 10_000) },
      { ...entry, attempt: 2, at: AT },
    ],
    envelope: ENVELOPE,
    ...change,
  };
}

const before = (ms: number) => new Date(AT.getTime() - ms);

describe('the request of the latest attempt', () => {
  it('has the headers that the dispatcher made at that time, but for the trace that is not stored', () => {
    const whole = aDelivery();
    const due = { delivery: whole.delivery, run: 0, attempt: 2, traceparent: null, envelope: Buffer.from(ENVELOPE) };
    expect(sentRequest(whole, target(), true)).toEqual({
      method: 'POST',
      url: 'https://example.com/hook',
      url_note: null,
      headers: { ...pushHeaders(due, SECRET, AT.getTime()), traceparent: null },
      signature_note: null,
      body: ENVELOPE,
    });
  });

  it('is signed by the clock of its dispatcher, even if the log shows a later time', () => {
    const [first, latest] = aDelivery().attemptsLog;
    const skewed = aDelivery({ attemptsLog: [first!, { ...latest!, leadMs: 90_000 }] });
    const stamp = String(Math.floor((AT.getTime() - 90_000) / 1_000));
    expect(sentRequest(skewed, target(), true)?.headers['webhook-timestamp']).toBe(stamp);
  });

  it('knows the trace of a replay, which follows from the event', () => {
    const [first, latest] = aDelivery().attemptsLog;
    const replayed = aDelivery({ attemptsLog: [first!, { ...latest!, run: 1, attempt: 1 }] });
    const request = sentRequest(replayed, target(), true);
    expect(request?.headers['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(request?.headers['x-service-attempt']).toBe('1');
  });

  it('has no signatures, and says why, when the secret was rotated since, or right before', () => {
    for (const secretChangedAt of [new Date(AT.getTime() + 1), AT, before(4_999)]) {
      const request = sentRequest(aDelivery(), target({ secretChangedAt }), true);
      for (const name of SIGNATURE_HEADERS) expect(request?.headers).toMatchObject({ [name]: null });
      expect(request?.headers['webhook-timestamp']).toBe(String(Math.floor(AT.getTime() / 1_000)));
      expect(request?.signature_note).toMatch(/rotated/);
      expect(request?.url).not.toBeNull();
    }
    expect(sentRequest(aDelivery(), target({ secretChangedAt: before(5_001) }), true)?.signature_note).toBeNull();
  });

  it('has no signatures, and says why, when the secret cannot be decrypted', () => {
    const request = sentRequest(aDelivery(), target({ secret: null }), true);
    for (const name of SIGNATURE_HEADERS) expect(request?.headers).toMatchObject({ [name]: null });
    expect(request?.signature_note).toMatch(/cannot be decrypted/);
  });

  it('has no url, and says why, when that has changed since, or right before', () => {
    const changed = sentRequest(aDelivery(), target({ urlChangedAt: before(1_000) }), true);
    expect(changed).toMatchObject({ url: null, url_note: expect.stringMatching(/changed/) as unknown });
    expect(changed?.signature_note).toBeNull();
    expect(sentRequest(aDelivery(), target({ urlChangedAt: before(5_001) }), true)?.url_note).toBeNull();
  });

  it('has no signatures, and says why, for those who may only read', () => {
    const request = sentRequest(aDelivery(), target(), false);
    for (const name of SIGNATURE_HEADERS) expect(request?.headers).toMatchObject({ [name]: null });
    expect(request?.signature_note).toMatch(/webhooks:write/);
    expect(JSON.stringify(request)).not.toMatch(/[0-9a-f]{64}/);
  });

  it('is none before the first attempt, and without the stored bytes', () => {
    expect(sentRequest(aDelivery({ attemptsLog: [] }), target(), true)).toBeNull();
    expect(sentRequest(aDelivery({ envelope: null }), target(), true)).toBeNull();
  });

  it('has both signatures of an attempt during an overlap, and none where the second secret is not kept', () => {
    const previousSecret = 'whsec_b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90aGVyb3Q=';
    const during = { secretChangedAt: before(60_000), previousSecret, previousSecretUntil: before(-60_000) };
    const signature = (change: Partial<DatedTarget>) =>
      sentRequest(aDelivery(), target({ ...during, ...change }), true)!.headers['x-service-signature'];
    expect(signature({})).toMatch(/^t=\d+,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);
    expect(signature({ previousSecret: null })).toBeNull();
    for (const end of [4_999, 0, -4_999]) expect(signature({ previousSecretUntil: before(end) })).toBeNull();
    expect(signature({ previousSecretUntil: before(5_001) })).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    expect(sentRequest(aDelivery(), target({ ...during, previousSecret: null }), true)?.signature_note).toMatch(
      /second secret/,
    );
  });

  it('names additional headers without their values, and leaves out what the endpoint does not want', () => {
    const shownHeaders = { names: ['X-Tenant'], auth: 'bearer' } as const;
    const { headers, signature_note } = sentRequest(
      aDelivery(),
      target({ shownHeaders, settings: { legacySignature: false } }),
      true,
    )!;
    expect(headers).toMatchObject({ 'x-tenant': null, authorization: null });
    expect(headers).not.toHaveProperty('x-webhook-signature');
    expect(headers['x-service-signature']).toMatch(/^t=/);
    expect(signature_note).toBeNull();
  });

  it('names the event before it, unless another one of its batch was the first', () => {
    const { delivery, attemptsLog } = aDelivery();
    const header = (batch: readonly [number, number] | null, previousSeq: number | null) =>
      sentRequest(
        aDelivery({
          delivery: { ...delivery, previousSeq },
          attemptsLog: attemptsLog.map((entry) => ({ ...entry, batch })),
        }),
        target(),
        true,
      )?.headers['x-service-previous-sequence'];
    expect([header(null, 4120), header([4128, 4130], 4120), header([4120, 4130], 4120)]).toEqual([
      '4120',
      '4120',
      null,
    ]);
    expect([header(null, null), header([4120, 4130], null)]).toEqual([undefined, undefined]);
  });

  it('does not guess what settings it was sent with', () => {
    const changed = { shownHeaders: { names: ['X-New'], auth: null }, settingsChangedAt: before(4_000) } as const;
    const { headers, signature_note } = sentRequest(aDelivery(), target(changed), true)!;
    expect(headers).not.toHaveProperty('x-new');
    for (const name of SIGNATURE_HEADERS) expect(headers[name]).toBeNull();
    expect(signature_note).toMatch(/settings/);
  });

  it('does not show an Ed25519 signature, which only the private key makes', () => {
    const { headers, signature_note } = sentRequest(
      aDelivery(),
      target({ settings: { signatures: ['hmac', 'ed25519'] } }),
      true,
    )!;
    expect(headers['webhook-signature']).toBeNull();
    expect(headers['x-service-signature']).toMatch(/^t=/);
    expect(signature_note).toMatch(/Ed25519/);
  });
});
