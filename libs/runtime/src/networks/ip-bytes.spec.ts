import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { formatIp, parseIp } from './ip-bytes.js';

/** What the WHATWG URL parser, and so a connection, takes the address for. */
function byUrl(address: string): string {
  return new URL(`http://${address.includes(':') ? `[${address}]` : address}/`).hostname.replaceAll(/[[\]]/g, '');
}

const part = fc.integer({ min: 0, max: 255 });
const numberSpelling = (max: number): fc.Arbitrary<string> =>
  fc
    .integer({ min: 0, max })
    .chain((value) => fc.constantFrom(String(value), `0x${value.toString(16)}`, `0${value.toString(8)}`));

describe('parseIp', () => {
  it('reads every IPv4 spelling as the URL parser does', () => {
    const spelling = fc.oneof(
      numberSpelling(0xffffffff),
      fc.tuple(numberSpelling(255), numberSpelling(0xffffff)).map((parts) => parts.join('.')),
      fc.tuple(numberSpelling(255), numberSpelling(255), numberSpelling(0xffff)).map((parts) => parts.join('.')),
      fc.array(numberSpelling(255), { minLength: 4, maxLength: 4 }).map((parts) => parts.join('.')),
    );
    fc.assert(
      fc.property(spelling, (text) => {
        expect([text, formatIp(parseIp(text)!)]).toEqual([text, byUrl(text)]);
      }),
      { numRuns: 1000 },
    );
  });

  it('reads every IPv6 spelling as the URL parser does', () => {
    const dotted = fc.array(part, { minLength: 4, maxLength: 4 }).map((parts) => parts.join('.'));
    const prefix = fc.constantFrom(
      '::',
      '::ffff:',
      '::ffff:0:',
      '64:ff9b::',
      '0:0:0:0:0:0:',
      '0:0:0:0:0:FFFF:',
      '1:2:3:4:5:6:',
    );
    const mixed = fc.tuple(prefix, dotted).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(fc.ipV6(), mixed), (text) => {
        expect([text, formatIp(parseIp(text)!)]).toEqual([text, byUrl(formatIp(parseIp(text)!))]);
        expect(parseIp(byUrl(text))).toEqual(parseIp(text));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    '',
    '::1%lo',
    'fe80::1%25eth0',
    '1.2.3.4.5',
    '256.0.0.1',
    '::ffff:256.0.0.1',
    '::ffff:01.2.3.4',
    ':::',
    '1::2::3',
    '08.0.0.1',
  ])('reads "%s" as no address', (text) => {
    expect(parseIp(text)).toBeUndefined();
  });
});
