import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import type { JsonObject } from '#libs/domain';
import { breakingChanges } from './schema-changes.js';

/** An event's schema with a member `n` of the given schema. */
const withN = (schema: JsonObject | boolean, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { id: { type: 'string' }, n: schema },
  required: ['id', 'n'],
  ...more,
});
const INTEGER = { type: 'integer' };
const text = (rules: JsonObject): JsonObject => withN({ type: 'string', ...rules });

function broken(before: JsonObject, after: JsonObject): readonly string[] {
  return breakingChanges(before, after).map(({ breaks, pointer }) => `${breaks} ${pointer}`);
}

describe('a change breaks nobody', () => {
  const rows: readonly (readonly [string, JsonObject, JsonObject])[] = [
    ['that changes nothing', withN(INTEGER), withN({ ...INTEGER })],
    [
      'that describes a new member that need not be there',
      withN(INTEGER),
      withN(INTEGER, { properties: { ...(withN(INTEGER)['properties'] as JsonObject), m: INTEGER } }),
    ],
    [
      'of words alone',
      withN(INTEGER),
      withN({ ...INTEGER, description: 'How many.', examples: [1], deprecated: true }),
    ],
    ['of the order of members', withN({ enum: ['a', 'b'] }), { ...withN({ enum: ['b', 'a'] }), required: ['n', 'id'] }],
    ['from a value to the list of it alone', withN({ const: 'a' }), withN({ enum: ['a'] })],
    [
      'that says of integers that they are numbers of that kind',
      withN({ type: ['number', 'integer'] }),
      withN({ type: 'number' }),
    ],
    ['that allows explicitly what was allowed', withN(INTEGER), withN(INTEGER, { additionalProperties: true })],
  ];

  it.each(rows)('%s', (_name, before, after) => {
    expect(breakingChanges(before, after)).toEqual([]);
  });
});

describe('a change breaks those who read new events with the old schema', () => {
  const rows: readonly (readonly [string, JsonObject, JsonObject, string])[] = [
    [
      'that removes a member',
      withN(INTEGER, { required: ['id'] }),
      { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      '/properties/n',
    ],
    ['by which a member may be absent', withN(INTEGER), withN(INTEGER, { required: ['id'] }), '/properties/n'],
    ['by which a member may be null', withN(INTEGER), withN({ type: ['integer', 'null'] }), '/properties/n'],
    ['from integers to numbers', withN(INTEGER), withN({ type: 'number' }), '/properties/n'],
    ['that drops the type', withN(INTEGER), withN({}), '/properties/n'],
    ['that adds to a list of values', withN({ enum: ['a'] }), withN({ enum: ['a', 'b'] }), '/properties/n'],
    ['from a value to a list', withN({ const: 1 }), withN({ enum: [1, 2] }), '/properties/n'],
    ['that drops a list of values', withN({ type: 'string', enum: ['a'] }), withN({ type: 'string' }), '/properties/n'],
    ['that lowers a minimum', withN({ ...INTEGER, minimum: 1 }), withN({ ...INTEGER, minimum: 0 }), '/properties/n'],
    ['that drops a greatest length', text({ maxLength: 5 }), text({}), '/properties/n'],
    ['that drops a pattern', text({ pattern: '^a' }), text({}), '/properties/n'],
    ['that drops a format', text({ format: 'uuid' }), text({}), '/properties/n'],
    [
      'that allows what had to be absent',
      withN(false, { required: ['id'] }),
      withN(INTEGER, { required: ['id'] }),
      '/properties/n',
    ],
    [
      'that adds a member where no others were allowed',
      { type: 'object', additionalProperties: false },
      { type: 'object', additionalProperties: false, properties: { n: INTEGER } },
      '/properties/n',
    ],
    [
      'that allows members that were not allowed',
      { type: 'object', additionalProperties: false },
      { type: 'object' },
      '/additionalProperties',
    ],
    [
      'within a list',
      withN({ type: 'array', items: INTEGER }),
      withN({ type: 'array', items: { type: 'number' } }),
      '/properties/n/items',
    ],
    ['within an object', withN(withN(INTEGER)), withN(withN({ type: 'number' })), '/properties/n/properties/n'],
    [
      'within one of several schemas',
      { allOf: [withN(INTEGER)] },
      { allOf: [withN({ type: 'number' })] },
      '/allOf/0/properties/n',
    ],
    ['that drops one of several schemas', { allOf: [{ $ref: 'envelope.json' }] }, {}, '/allOf/0'],
  ];

  it.each(rows)('%s', (_name, before, after, pointer) => {
    expect(broken(before, after)).toEqual([`deployed ${pointer}`]);
  });
});

describe('a change breaks those who read old events with the new schema', () => {
  const rows: readonly (readonly [string, JsonObject, JsonObject, string])[] = [
    ['that requires a member', withN(INTEGER, { required: ['id'] }), withN(INTEGER), '/properties/n'],
    [
      'by which a member may not be null any more',
      withN({ type: ['integer', 'null'] }),
      withN(INTEGER),
      '/properties/n',
    ],
    ['from numbers to integers', withN({ type: 'number' }), withN(INTEGER), '/properties/n'],
    ['that takes from a list of values', withN({ enum: ['a', 'b'] }), withN({ enum: ['a'] }), '/properties/n'],
    ['that raises a minimum', withN({ ...INTEGER, minimum: 0 }), withN({ ...INTEGER, minimum: 1 }), '/properties/n'],
    ['that brings a greatest length', text({}), text({ maxLength: 5 }), '/properties/n'],
    ['that brings a pattern', text({}), text({ pattern: '^a' }), '/properties/n'],
    [
      'that forbids a member',
      withN(INTEGER, { required: ['id'] }),
      withN(false, { required: ['id'] }),
      '/properties/n',
    ],
    [
      'that forbids a member which was not described',
      withN(INTEGER),
      withN(INTEGER, { properties: { ...(withN(INTEGER)['properties'] as JsonObject), m: false } }),
      '/properties/m',
    ],
    [
      'that allows no other members',
      { type: 'object' },
      { type: 'object', additionalProperties: false },
      '/additionalProperties',
    ],
    ['that brings a keyword that cannot be judged', withN({}), withN({ not: { type: 'null' } }), '/properties/n'],
  ];

  it.each(rows)('%s', (_name, before, after, pointer) => {
    expect(broken(before, after)).toEqual([`upgraded ${pointer}`]);
  });
});

describe('a change breaks both', () => {
  const rows: readonly (readonly [string, JsonObject, JsonObject])[] = [
    ['from a type to another', withN(INTEGER), withN({ type: 'string' })],
    ['from a value to another', withN({ const: 1 }), withN({ const: 2 })],
    [
      'from a pattern to another, of which it cannot be seen which allows more',
      text({ pattern: '^a' }),
      text({ pattern: '^ab' }),
    ],
    [
      'of a keyword that cannot be judged',
      withN({ anyOf: [INTEGER] }),
      withN({ anyOf: [INTEGER, { type: 'string' }] }),
    ],
  ];

  it.each(rows)('%s', (_name, before, after) => {
    expect(broken(before, after)).toEqual(['deployed /properties/n', 'upgraded /properties/n']);
  });

  it('and is described in words', () => {
    expect(breakingChanges(withN(INTEGER), withN({ type: ['string', 'null'] }))).toEqual([
      { pointer: '/properties/n', breaks: 'deployed', detail: 'may be string or null now' },
      { pointer: '/properties/n', breaks: 'upgraded', detail: 'may not be integer any more' },
    ]);
  });
});

describe('whatever changes', () => {
  const scalar: fc.Arbitrary<JsonObject> = fc.oneof(
    fc.record(
      {
        type: fc.subarray(['string', 'integer', 'number', 'null', 'boolean'], { minLength: 1 }),
        minimum: fc.nat(3),
        maxLength: fc.nat(3),
      },
      { requiredKeys: [] },
    ),
    fc.record({ enum: fc.uniqueArray(fc.constantFrom('a', 'abcd', 1, 5, null), { minLength: 1 }) }),
    fc.record({ const: fc.constantFrom('a', 1, null) }),
    fc.record(
      {
        type: fc.constant('array'),
        items: fc.constantFrom({ type: 'string' }, { type: 'integer' }, true, false),
        minItems: fc.nat(2),
      },
      { requiredKeys: ['type'] },
    ),
  );
  const member = fc.oneof({ weight: 8, arbitrary: scalar }, { weight: 1, arbitrary: fc.boolean() });
  const schemas = fc.record(
    {
      properties: fc.dictionary(fc.constantFrom('a', 'b'), member, { noNullPrototype: true }),
      required: fc.subarray(['a', 'b']),
      additionalProperties: fc.oneof(fc.boolean(), scalar),
    },
    { requiredKeys: ['properties'] },
  );
  const values = fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.constantFrom<unknown>('a', 'abcd', 1, 5, 1.5, null, true, [], ['a'], [1, 2]),
    { noNullPrototype: true },
  );
  const validatorOf = (schema: JsonObject) =>
    new Ajv2020({ strict: false, validateSchema: false, meta: false }).compile(schema);

  it('an event that only one of two schemas allows is never called compatible', () => {
    fc.assert(
      fc.property(schemas, schemas, fc.array(values, { maxLength: 12 }), (before, after, events) => {
        const breaks = new Set(breakingChanges(before, after).map((change) => change.breaks));
        const [allowed, allows] = [validatorOf(before), validatorOf(after)];
        for (const event of events) {
          const [wasAllowed, isAllowed] = [allowed(event), allows(event)];
          if (isAllowed && !wasAllowed) expect(breaks).toContain('deployed');
          // What no schema described was not emitted.
          const isDescribed = Object.keys(event).every((name) => name in before.properties);
          if (wasAllowed && !isAllowed && isDescribed) expect(breaks).toContain('upgraded');
        }
      }),
      { numRuns: 400 },
    );
  });

  it('a schema is compatible with itself', () => {
    fc.assert(
      fc.property(schemas, (schema) => {
        expect(breakingChanges(schema, structuredClone(schema))).toEqual([]);
      }),
    );
  });
});
