import type { JsonObject } from '#libs/domain';

/** The members of a resource: the JSON Schema of each, and how it is read from a record. */
export type ShownMembers<Source> = Readonly<
  Record<string, readonly [schema: JsonObject, read: (source: Source) => unknown]>
>;

/** A resource as the API shows it. */
export type Shown<Members extends ShownMembers<never>> = {
  readonly [Name in keyof Members]: ReturnType<Members[Name][1]>;
};

/** Returns the function that shows a record. */
export function presenter<Source, Members extends ShownMembers<Source>>(members: Members) {
  const readers = Object.entries(members).map(([name, [, read]]) => [name, read] as const);
  return (source: Source) => Object.fromEntries(readers.map(([name, read]) => [name, read(source)])) as Shown<Members>;
}

/** Returns the JSON Schemas of the members. */
export function schemasOf<Source>(members: ShownMembers<Source>): JsonObject {
  return Object.fromEntries(Object.entries(members).map(([name, [schema]]) => [name, schema]));
}
