import { describe, expect, it } from '@jest/globals';
import { aDelivery, attempted, ended, replayed, scheduled } from '../../testing/facts.js';
import { factEndpointId, type DeliveryFact } from './delivery-fact.js';
import { decodeFact, encodeFact } from './fact-codec.js';

const { endpointId, orgId } = aDelivery();

const FACTS: readonly DeliveryFact[] = [
  scheduled(),
  attempted(0, 1, 'retry'),
  attempted(3, 9, 'delivered'),
  { ...attempted(0, 1, 'exhausted'), responseExcerpt: 'ä\u2028"\u{1f600}' },
  { ...attempted(0, 1, 'retry'), leadMs: -5, dueAtMs: 5, waitedFor: 'pace', batch: [1, 2], disables: true },
  scheduled({ ...aDelivery(), lane: 32_767, isUrgent: true, previousSeq: null }),
  replayed(1),
  ended(0, 'endpoint_deleted'),
  { type: 'endpoint_disabled', endpointId, orgId, activation: 2, atMs: 5 },
];

function anAttemptWith(members: Readonly<Record<string, unknown>>): Buffer {
  return Buffer.from(JSON.stringify({ ...attempted(0, 1, 'retry'), ...members }));
}

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
    ['an attempt without members', Buffer.from('{"type":"attempted"}')],
    ['one of an empty delivery', Buffer.from('{"type":"scheduled","delivery":{}}')],
    ['a time with no table', encodeFact(scheduled({ ...aDelivery(), createdAtMs: 9e15 }))],
    ['a fraction of a run', encodeFact(replayed(0.5))],
    ['an outcome of no kind', encodeFact(attempted(0, 1, 'lost' as 'retry'))],
    ['text with NUL', encodeFact({ ...attempted(0, 1, 'retry'), error: '\0' })],
    ['half of a surrogate pair', encodeFact({ ...attempted(0, 1, 'exhausted'), error: '\ud800' })],
    ['an event type with half of one', encodeFact(scheduled({ ...aDelivery(), event: '\udc00' }))],
    ['a batch that is text', anAttemptWith({ batch: 'xy' })],
    ['a batch that is no list', anAttemptWith({ batch: { 0: 1, 1: 2 } })],
    ['a batch of one seq', anAttemptWith({ batch: [1] })],
    ['a batch of three', anAttemptWith({ batch: [1, 2, 3] })],
    ['a batch with a fraction', anAttemptWith({ batch: [1, 1.5] })],
    ['a retry without a time', encodeFact({ ...attempted(0, 1, 'retry'), nextAttemptAtMs: null })],
    ['more attempts than an integer holds', encodeFact({ ...attempted(0, 2 ** 31, 'retry'), startedAtMs: 5 })],
    ['an endpoint without an id', Buffer.from('{"type":"endpoint_disabled","activation":2,"atMs":5}')],
  ])('%s is no fact', (_case, value) => {
    expect(decodeFact(value)).toBeUndefined();
  });
});
