/** A JSON object in code: a schema or an example. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The dialect of every schema of the catalog. */
export const JSON_SCHEMA_DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/**
 * The schema of a `data` whose shape the spec leaves to the entity's REST representation.
 * One object per description, so that a validator compiles it once for all the types that share it.
 */
export function openObjectSchema(description: string): JsonObject {
  return { $schema: JSON_SCHEMA_DIALECT, type: 'object', description };
}
