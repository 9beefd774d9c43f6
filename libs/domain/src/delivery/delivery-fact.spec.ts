import { describe, expect, it } from '@jest/globals';
import { aDelivery, attempted, ended, replayed, scheduled } from '../testing/facts.js';
import { decodeFact, encodeFact, factEndpointId, type DeliveryFact } from './delivery-fact.js';

const { endpointId, orgId } = aDelivery();

const FACTS: readonly DeliveryFact[] = [
  scheduled(),
  attempted(0, 1, 'retry'),
  attempted(3, 9, 'delivered'),
  { ...attempted(0, 1, 'exhausted'), responseExcerpt: 'ä\u2028"\ud800' },
  replayed(1),
  ended(0, 'endpoint_deleted'),
  { type: 'endpoint_disabled', endpointId, orgId, activation: 2, atMs: 5 },
];

describe('facts', () => {
  it.each(FACTS.map((fact) => [fact.type, fact] as const))('%s is read as it was written', (_type, fact) => {
    expect(decodeFact(encodeFact(fact))).toEqual(fact);
    expect(factEndpointId(fact)).toBe(endpointId);
  });

  it.each([
    ['nothing', null],
    ['no JSON', Buffer.from('{')],
    ['null', Buffer.from('null')],
    ['a number', Buffer.from('1')],
    ['an array', Buffer.from('[]')],
    ['a fact of an unknown type', Buffer.from('{"type":"forgotten"}')],
    ['a type that is no text', Buffer.from('{"type":["scheduled"]}')],
  ])('%s is no fact', (_case, value) => {
    expect(decodeFact(value)).toBeUndefined();
  });
});
