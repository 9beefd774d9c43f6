import { CATALOG, ENVELOPE_SCHEMA, type CatalogEntry, type JsonObject } from '#libs/domain';

/** A JSON Schema document, and the name of its file in `schemas/`. */
export interface SchemaFile {
  readonly name: string;
  readonly schema: JsonObject;
}

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
const ENVELOPE_FILE = 'envelope.json';

const EXAMPLE_ORG = '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001';
const EXAMPLE_WIDGET = '0f9b3c52-6a1e-4d27-9a45-3f0f8c1d7e21';
const EXAMPLE_TIME = '2026-01-05T09:30:00.000Z';

/** Returns an example event of the type, with its envelope. */
export function exampleEnvelope({ event, scope, example }: CatalogEntry): JsonObject {
  return {
    id: 'evt_01K2Z8Q4T7WJ5M3N9R6XBCDEFG',
    seq: 4128,
    event,
    occurred_at: EXAMPLE_TIME,
    timestamp: EXAMPLE_TIME,
    org_id: EXAMPLE_ORG,
    widget_id: scope === 'widget' ? EXAMPLE_WIDGET : null,
    data: example,
  };
}

/** Returns the schema without its dialect, to embed it: the document declares the dialect for all its parts. */
export function partOf(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => keyword !== '$schema'));
}

/** Returns the file of one type's envelope; the members of all types are in the envelope's own file. */
function eventFile(entry: CatalogEntry): SchemaFile {
  const name = `${entry.event}.json`;
  return {
    name,
    schema: {
      $schema: DIALECT,
      $id: name,
      title: entry.event,
      description: entry.description,
      allOf: [{ $ref: ENVELOPE_FILE }],
      properties: {
        event: { const: entry.event },
        ...(entry.scope === 'org' ? { widget_id: { type: 'null' } } : {}),
        data: partOf(entry.schema),
      },
      examples: [exampleEnvelope(entry)],
    },
  };
}

/** The files of `schemas/`: the envelope, and each event type that is emitted. */
export const EVENT_SCHEMA_FILES: readonly SchemaFile[] = [
  { name: ENVELOPE_FILE, schema: { $schema: DIALECT, $id: ENVELOPE_FILE, title: 'Envelope', ...ENVELOPE_SCHEMA } },
  ...CATALOG.filter(({ deprecated }) => !deprecated).map(eventFile),
];
