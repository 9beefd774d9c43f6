import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { serviceSignature, verifySignature, type VerifySignatureOptions } from './index.js';

const SECRET = 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=';
const TIMESTAMP = 1_700_000_000;
const BODY = Buffer.from('{"id":"evt_1","data":{"name":"Zoë"}}');
const HEADER = serviceSignature(SECRET, TIMESTAMP, BODY);
const DIGEST = HEADER.slice(HEADER.indexOf('v1=') + 3);
const at = (seconds: number): Date => new Date(seconds * 1000);
const verify = (changes: Partial<VerifySignatureOptions> = {}): ReturnType<typeof verifySignature> =>
  verifySignature({ body: BODY, header: HEADER, secret: SECRET, now: at(TIMESTAMP), ...changes });
const because = (reason: string): object => ({ valid: false, reason });

describe('verifySignature', () => {
  it('accepts what the service signed, and gives when', () => {
    expect(verify()).toEqual({ valid: true, timestamp: TIMESTAMP });
    expect(verify({ body: BODY.toString('utf8') })).toEqual({ valid: true, timestamp: TIMESTAMP });
    expect(verify({ header: [HEADER] })).toEqual({ valid: true, timestamp: TIMESTAMP });
  });

  it('takes the members in any order, and leaves those of later versions alone', () => {
    expect(verify({ header: `v1=${DIGEST},t=${TIMESTAMP}` })).toMatchObject({ valid: true });
    expect(verify({ header: `${HEADER},v2=whatever` })).toMatchObject({ valid: true });
  });

  it('takes one v1 of each secret while one replaces another, in any order', () => {
    const OTHER = 'whsec_b3RoZXJvdGhlcm90aGVyb3RoZXJvdGhlcm90aGVyb3Q=';
    for (const secrets of [
      [OTHER, SECRET],
      [SECRET, OTHER],
    ]) {
      const header = serviceSignature(secrets, TIMESTAMP, BODY);
      expect(header).toMatch(/^t=1700000000,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/);
      for (const secret of secrets) expect(verify({ header, secret })).toMatchObject({ valid: true });
      expect(verify({ header, secret: 'whsec_third' })).toEqual(because('mismatch'));
    }
  });

  it.each([undefined, null, '', []])('calls the header %j missing', (header) => {
    expect(verify({ header })).toEqual(because('missing'));
  });

  it.each([
    `t=${TIMESTAMP}`,
    `v1=${DIGEST}`,
    't=,v1=',
    `t=,v1=${DIGEST}`,
    `t=${TIMESTAMP},v1=`,
    `t=${TIMESTAMP},v0=${DIGEST}`,
    `${HEADER},t=${TIMESTAMP}`,
    `${HEADER},v1=`,
    `${HEADER},v1=${DIGEST.toUpperCase()}`,
    `${HEADER},${HEADER}`,
    `${HEADER}, ${HEADER}`,
    `${HEADER},`,
    `,${HEADER}`,
    ` ${HEADER}`,
    `${HEADER} `,
    `t=${TIMESTAMP}, v1=${DIGEST}`,
    `t=${TIMESTAMP};v1=${DIGEST}`,
    `t=0${TIMESTAMP},v1=${DIGEST}`,
    `t=+${TIMESTAMP},v1=${DIGEST}`,
    `t=-${TIMESTAMP},v1=${DIGEST}`,
    `t=${TIMESTAMP}.0,v1=${DIGEST}`,
    `t=1.7e9,v1=${DIGEST}`,
    `t=0x6553f100,v1=${DIGEST}`,
    `t=9999999999999,v1=${DIGEST}`,
    `t=NaN,v1=${DIGEST}`,
    `T=${TIMESTAMP},V1=${DIGEST}`,
    `t=${TIMESTAMP},v1=${DIGEST.toUpperCase()}`,
    `t=${TIMESTAMP},v1=${DIGEST.slice(0, 63)}g`,
    `t=${TIMESTAMP},v1==${DIGEST}`,
    'nonsense',
    ',',
    '=',
  ])('calls the header "%s" malformed', (header) => {
    expect(verify({ header })).toEqual(because('malformed'));
  });

  it('calls two headers malformed', () => {
    expect(verify({ header: [HEADER, HEADER] })).toEqual(because('malformed'));
  });

  it.each([
    [300, { valid: true, timestamp: TIMESTAMP }],
    [301, because('expired')],
    [-300, { valid: true, timestamp: TIMESTAMP }],
    [-301, because('expired')],
  ])('with the clock %i seconds after the signature gives %j', (seconds, expected) => {
    expect(verify({ now: at(TIMESTAMP + seconds) })).toEqual(expected);
  });

  it('takes another tolerance, and one that is no number for none at all', () => {
    expect(verify({ toleranceSeconds: 10, now: at(TIMESTAMP + 10) })).toMatchObject({ valid: true });
    expect(verify({ toleranceSeconds: 10, now: at(TIMESTAMP + 11) })).toEqual(because('expired'));
    expect(verify({ toleranceSeconds: 0 })).toMatchObject({ valid: true });
    expect(verify({ toleranceSeconds: Number.NaN })).toEqual(because('expired'));
    expect(verify({ now: new Date(Number.NaN) })).toEqual(because('expired'));
  });

  it('takes now as a Date, as seconds or as milliseconds, or from the system', () => {
    expect(verify({ now: TIMESTAMP + 300 })).toMatchObject({ valid: true });
    expect(verify({ now: TIMESTAMP + 301 })).toEqual(because('expired'));
    expect(verify({ now: (TIMESTAMP + 300) * 1000 })).toMatchObject({ valid: true });
    expect(verify({ now: (TIMESTAMP + 301) * 1000 })).toEqual(because('expired'));
    expect(verify({ now: undefined })).toEqual(because('expired'));
    const fresh = Math.floor(Date.now() / 1000);
    expect(verify({ now: undefined, header: serviceSignature(SECRET, fresh, BODY) })).toMatchObject({ valid: true });
  });

  it('calls a digest of another length a mismatch', () => {
    expect(verify({ header: HEADER.slice(0, -2) })).toEqual(because('mismatch'));
    expect(verify({ header: `${HEADER}00` })).toEqual(because('mismatch'));
    expect(verify({ header: `${HEADER},v1=00` })).toMatchObject({ valid: true });
  });

  it('accepts any one of several secrets', () => {
    expect(verify({ secret: ['whsec_old', SECRET] })).toMatchObject({ valid: true });
    expect(verify({ secret: [SECRET, 'whsec_new'] })).toMatchObject({ valid: true });
    expect(verify({ secret: ['whsec_old', 'whsec_new'] })).toEqual(because('mismatch'));
    expect(verify({ secret: [] })).toEqual(because('mismatch'));
  });

  it('accepts nothing that is signed with an empty secret', () => {
    expect(verify({ secret: '', header: serviceSignature('', TIMESTAMP, BODY) })).toEqual(because('mismatch'));
    expect(verify({ secret: ['', SECRET] })).toMatchObject({ valid: true });
    expect(verify({ secret: [undefined as never, SECRET] })).toMatchObject({ valid: true });
  });

  it('does not verify a body that was parsed and printed again', () => {
    const spaced = Buffer.from('{ "id": "evt_1" }');
    const header = serviceSignature(SECRET, TIMESTAMP, spaced);
    expect(verify({ body: JSON.stringify(JSON.parse(spaced.toString())), header })).toEqual(because('mismatch'));
  });

  it('fails on any change of one byte of the body', () => {
    const change = fc.tuple(fc.nat({ max: BODY.length - 1 }), fc.integer({ min: 1, max: 255 }));
    fc.assert(
      fc.property(change, ([index, flip]) => {
        const body = Buffer.from(BODY);
        body[index] = body[index]! ^ flip;
        expect(verify({ body })).toEqual(because('mismatch'));
      }),
    );
  });

  it('fails on any change of one character of the secret', () => {
    const change = fc.tuple(fc.nat({ max: SECRET.length - 1 }), fc.integer({ min: 1, max: 127 }));
    fc.assert(
      fc.property(change, ([index, flip]) => {
        const changed = String.fromCharCode(SECRET.charCodeAt(index) ^ flip);
        expect(verify({ secret: SECRET.slice(0, index) + changed + SECRET.slice(index + 1) })).toEqual(
          because('mismatch'),
        );
      }),
    );
  });

  it('fails on any other timestamp', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -300, max: 300 }).filter((seconds) => seconds !== 0),
        (seconds) => {
          expect(verify({ header: `t=${TIMESTAMP + seconds},v1=${DIGEST}` })).toEqual(because('mismatch'));
        },
      ),
    );
  });

  it('fails on any change of one byte of the header', () => {
    const change = fc.tuple(fc.nat({ max: HEADER.length - 1 }), fc.integer({ min: 1, max: 255 }));
    fc.assert(
      fc.property(change, ([index, flip]) => {
        const header =
          HEADER.slice(0, index) + String.fromCharCode(HEADER.charCodeAt(index) ^ flip) + HEADER.slice(index + 1);
        expect(verify({ header })).toMatchObject({ valid: false });
      }),
      { numRuns: 2000 },
    );
  });

  it('accepts whatever the service signs', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat({ max: 4_000_000_000 }), fc.uint8Array(), (secret, t, bytes) => {
        const body = Buffer.from(bytes);
        const header = serviceSignature(secret, t, body);
        expect(verifySignature({ body, header, secret, now: at(t) })).toEqual({ valid: true, timestamp: t });
      }),
    );
  });

  it('never throws, whatever the arguments', () => {
    const member = fc.constantFrom('t=', 'v1=', 't', 'v1', ',', '=', String(TIMESTAMP), DIGEST, ' ', '\n');
    const header = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(member).map((parts) => parts.join('')),
      fc.anything(),
    );
    fc.assert(
      fc.property(
        header,
        fc.anything(),
        fc.anything(),
        fc.anything(),
        fc.anything(),
        (given, body, secret, tolerance, now) => {
          const options = { header: given, body, secret, toleranceSeconds: tolerance, now } as VerifySignatureOptions;
          expect(verifySignature(options).valid).toBe(false);
          expect(typeof verify({ header: given as string }).valid).toBe('boolean');
          expect(verify({ body: body as string }).valid).toBe(false);
          expect(typeof verify({ secret: secret as string }).valid).toBe('boolean');
          expect(typeof verify({ toleranceSeconds: tolerance as number, now: now as Date }).valid).toBe('boolean');
        },
      ),
    );
    expect(verifySignature(undefined as unknown as VerifySignatureOptions).valid).toBe(false);
    expect(verifySignature({} as VerifySignatureOptions)).toEqual(because('missing'));
  });
});
