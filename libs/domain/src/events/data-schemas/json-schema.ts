/** A JSON object in code: a schema or an example. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The dialect of every schema of the catalog. */
export const JSON_SCHEMA_DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/**
 * Returns the schema of a `data` whose shape is the entity's REST representation. Call it once per description and
 * share the result, so that a validator compiles it once.
 */
export function openObjectSchema(description: string): JsonObject {
  return { $schema: JSON_SCHEMA_DIALECT, type: 'object', description };
}
