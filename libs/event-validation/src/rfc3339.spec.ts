import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isPrintableInstant, parseTimestamp } from './rfc3339.js';

const asUtc = (text: string) => {
  const epochMs = parseTimestamp(text);
  return epochMs === undefined ? undefined : new Date(epochMs).toISOString();
};

describe('parseTimestamp', () => {
  it.each([
    ['2026-03-02T09:14:05Z', '2026-03-02T09:14:05.000Z'],
    ['2026-03-02t09:14:05z', '2026-03-02T09:14:05.000Z'],
    ['2026-03-02T09:14:05.1Z', '2026-03-02T09:14:05.100Z'],
    ['2026-03-02T09:14:05.123999999Z', '2026-03-02T09:14:05.123Z'],
    ['2026-03-02T09:14:05+02:00', '2026-03-02T07:14:05.000Z'],
    ['2026-03-02T09:14:05-05:30', '2026-03-02T14:44:05.000Z'],
    ['2026-03-02T09:14:05-00:00', '2026-03-02T09:14:05.000Z'],
    ['2024-02-29T23:59:59.999+00:00', '2024-02-29T23:59:59.999Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59.500Z'],
  ])('reads %s as %s', (text, utc) => {
    expect(asUtc(text)).toBe(utc);
  });

  it.each([
    ['no such day', '2026-02-30T00:00:00Z'],
    ['no leap year', '2026-02-29T00:00:00Z'],
    ['no leap year in 1900', '1900-02-29T00:00:00Z'],
    ['day 31 of a short month', '2026-04-31T00:00:00Z'],
    ['day 0', '2026-01-00T00:00:00Z'],
    ['month 13', '2026-13-01T00:00:00Z'],
    ['month 0', '2026-00-01T00:00:00Z'],
    ['hour 24', '2026-01-01T24:00:00Z'],
    ['minute 60', '2026-01-01T00:60:00Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['an offset of 24 hours', '2026-01-01T00:00:00+24:00'],
    ['an offset of 60 minutes', '2026-01-01T00:00:00+00:60'],
    ['an offset without a colon', '2026-01-01T00:00:00+0200'],
    ['no offset', '2026-01-01T00:00:00'],
    ['no seconds', '2026-01-01T00:00Z'],
    ['no time', '2026-01-01'],
    ['a space for the T', '2026-01-01 00:00:00Z'],
    ['an empty fraction', '2026-01-01T00:00:00.Z'],
    ['a fraction after a comma', '2026-01-01T00:00:00,5Z'],
    ['the basic format', '20260101T000000Z'],
    ['a week date', '2026-W01-1T00:00:00Z'],
    ['a year of six digits', '+002026-01-01T00:00:00Z'],
    ['year 0', '0000-12-31T00:00:00Z'],
    ['an instant before year 1', '0001-01-01T00:00:00+00:01'],
    ['an instant after year 9999', '9999-12-31T23:59:59-00:01'],
    ['surrounding space', ' 2026-01-01T00:00:00Z'],
    ['a trailing line feed', '2026-01-01T00:00:00Z\n'],
    ['other digits', '２０２６-01-01T00:00:00Z'],
    ['nothing', ''],
  ])('refuses %s: %j', (_case, text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });

  it('reads back every instant that it can print', () => {
    const instants = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instants, (date) => {
        expect(parseTimestamp(date.toISOString())).toBe(date.getTime());
      }),
    );
  });
});

describe('isPrintableInstant', () => {
  it.each([NaN, Infinity, 0.5, 8.64e15, -8.64e15])('refuses %d', (epochMs) => {
    expect(isPrintableInstant(epochMs)).toBe(false);
  });
});
