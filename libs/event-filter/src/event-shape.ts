import { catalogEntry, ENVELOPE_SCHEMA, isEventType, type JsonObject } from '#libs/domain';

/** The members of an object that a schema lists; `null` if it lists none, so that it may have any. */
function membersOf(schema: unknown): Readonly<Record<string, JsonObject>> | null {
  const { type, properties } = (schema ?? {}) as { readonly type?: unknown; readonly properties?: unknown };
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object'));
  return isObject && properties !== undefined ? (properties as Readonly<Record<string, JsonObject>>) : null;
}

/** What the catalog says of a member: `listed`, `unlisted`, or `open` if its object may have any members. */
export type Listing = 'listed' | 'unlisted' | 'open';

/** The schema of an event type's envelope, with its data. */
export function eventSchema(event: string): JsonObject {
  const data = isEventType(event) ? catalogEntry(event).schema : { type: 'object' };
  return { type: 'object', properties: { ...ENVELOPE_SCHEMA.properties, data } };
}

/** Finds a member in the schema of an object. */
export function listingOf(schema: JsonObject, names: readonly string[]): Listing {
  let at: unknown = schema;
  for (const name of names) {
    const members = membersOf(at);
    if (members === null) return 'open';
    // A member whose schema is `false` must not be there.
    if (!Object.hasOwn(members, name) || (members[name] as unknown) === false) return 'unlisted';
    at = members[name];
  }
  return 'listed';
}

/** A schema as far as filters are checked against it. */
export type Shape =
  | { readonly kind: 'any' }
  | { readonly kind: 'scalar'; readonly type: 'string' | 'double' | 'bool' }
  | { readonly kind: 'list'; readonly of: Shape }
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, Shape> };

const ANY: Shape = { kind: 'any' };

const SCALARS: Readonly<Record<string, 'string' | 'double' | 'bool'>> = {
  string: 'string',
  integer: 'double',
  number: 'double',
  boolean: 'bool',
};

/** Members that may be null have any shape, so that they can be compared with null. */
export function shapeOf(schema: unknown): Shape {
  const { type, items } = (schema ?? {}) as { readonly type?: unknown; readonly items?: unknown };
  if (typeof type !== 'string') return ANY;
  const members = membersOf(schema);
  if (members !== null) {
    const listed = Object.entries(members).filter(([, member]) => (member as unknown) !== false);
    return { kind: 'object', members: new Map(listed.map(([name, member]) => [name, shapeOf(member)])) };
  }
  if (type === 'array') return { kind: 'list', of: shapeOf(items) };
  return Object.hasOwn(SCALARS, type) ? { kind: 'scalar', type: SCALARS[type] ?? 'string' } : ANY;
}

/** Returns a shape that values of both shapes have, with the members of both. */
export function mergeShapes(one: Shape, other: Shape): Shape {
  if (one.kind === 'scalar' && other.kind === 'scalar' && one.type === other.type) return one;
  if (one.kind === 'list' && other.kind === 'list') return { kind: 'list', of: mergeShapes(one.of, other.of) };
  if (one.kind !== 'object' || other.kind !== 'object') return ANY;
  const members = new Map(one.members);
  for (const [name, shape] of other.members) {
    const own = members.get(name);
    members.set(name, own === undefined ? shape : mergeShapes(own, shape));
  }
  return { kind: 'object', members };
}

/** Returns the shape with a member of any shape, if it does not list the member. */
export function withMember(shape: Shape, [name, ...more]: readonly string[]): Shape {
  if (name === undefined || shape.kind !== 'object') return shape;
  const own = shape.members.get(name);
  if (own === undefined) return { kind: 'object', members: new Map([...shape.members, [name, ANY]]) };
  return { kind: 'object', members: new Map([...shape.members, [name, withMember(own, more)]]) };
}
