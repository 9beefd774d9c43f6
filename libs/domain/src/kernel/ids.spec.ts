import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  deliveryIdOf,
  derivedEventId,
  parseApiKeyId,
  parseDeliveryId,
  parseEndpointId,
  parseEventId,
  parseOrgId,
  parseWidgetId,
  type EndpointId,
  type EventId,
} from './ids.js';

const BODY = '01K2Z8Q4T7WJ5M3N9R6XBCDEFG';
const EVENT = `evt_${BODY}` as EventId;
const ENDPOINT = `whe_${BODY}` as EndpointId;

describe('deliveryIdOf', () => {
  it('is the same for the same event and endpoint, and another for another', () => {
    const id = deliveryIdOf(EVENT, ENDPOINT);
    expect(deliveryIdOf(EVENT, ENDPOINT)).toBe(id);
    expect(deliveryIdOf(`${EVENT}X` as EventId, ENDPOINT)).not.toBe(id);
    expect(deliveryIdOf(EVENT, `whe_${'0'.repeat(26)}` as EndpointId)).not.toBe(id);
  });

  it('is whd_ and the first 130 bits of a SHA-256 in Crockford base32', () => {
    const digest = createHash('sha256').update(`${EVENT}\n${ENDPOINT}`).digest('hex');
    const bits = Array.from(digest, (digit) => parseInt(digit, 16).toString(2).padStart(4, '0')).join('');
    const text = Array.from({ length: 26 }, (_, n) =>
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ'.charAt(parseInt(bits.slice(n * 5, n * 5 + 5), 2)),
    ).join('');
    expect(deliveryIdOf(EVENT, ENDPOINT)).toBe(`whd_${text}`);
    expect(parseDeliveryId(`whd_${text}`)).toBe(`whd_${text}`);
  });

  it('stays what it is: deliveries that are stored are found by it', () => {
    expect(deliveryIdOf(EVENT, ENDPOINT)).toMatchInlineSnapshot(`"whd_5RWAWREN1NX5SNYSHTBDDK9KPY"`);
  });
});

describe('derivedEventId', () => {
  it('is a function of its parts, and of where one ends and the next begins', () => {
    expect(derivedEventId('a', 'b')).toBe(derivedEventId('a', 'b'));
    expect(derivedEventId('a', 'b')).not.toBe(derivedEventId('ab'));
    expect(parseEventId(derivedEventId('a', 'b'))).toBeDefined();
  });
});

describe('the parsers', () => {
  it.each([
    ['org', parseOrgId],
    ['widget', parseWidgetId],
  ])('read the UUID of an %s, and have it in lower case', (_name, parse) => {
    expect(parse('0F8FAD5B-d9cb-469f-a165-70867728950e')).toBe('0f8fad5b-d9cb-469f-a165-70867728950e');
    for (const not of ['', '0f8fad5bd9cb469fa16570867728950e', '{0f8fad5b-d9cb-469f-a165-70867728950e}', 1, null]) {
      expect(parse(not)).toBeUndefined();
    }
    expect(parse(' 0f8fad5b-d9cb-469f-a165-70867728950e')).toBeUndefined();
    expect(parse('0f8fad5b-d9cb-469f-a165-70867728950e\n')).toBeUndefined();
  });

  it.each([
    ['whe_', parseEndpointId],
    ['whd_', parseDeliveryId],
    ['gk_', parseApiKeyId],
  ])('read %s and 26 characters of Crockford base32, and nothing else', (prefix, parse) => {
    expect(parse(`${prefix}${BODY}`)).toBe(`${prefix}${BODY}`);
    for (const body of ['', BODY.slice(1), `${BODY}0`, BODY.toLowerCase(), `${BODY.slice(1)}I`, `${BODY.slice(1)}U`]) {
      expect(parse(`${prefix}${body}`)).toBeUndefined();
    }
    for (const not of [BODY, `xyz_${BODY}`, `${prefix}${BODY}\n`, 5, undefined, null, {}]) {
      expect(parse(not)).toBeUndefined();
    }
  });

  it.each([16, 64])('read an event id of a producer with %i characters after the prefix', (length) => {
    expect(parseEventId(`evt_${'aZ0'.repeat(30).slice(0, length)}`)).toBeDefined();
  });

  it.each([
    'evt_',
    `evt_${'a'.repeat(15)}`,
    `evt_${'a'.repeat(65)}`,
    `evt_${'a'.repeat(15)}-`,
    `EVT_${'a'.repeat(20)}`,
  ])('read no event id from %s', (text) => {
    expect(parseEventId(text)).toBeUndefined();
  });
});
