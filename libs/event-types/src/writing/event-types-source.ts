import { compile } from 'json-schema-to-typescript';
import { format, resolveConfig } from 'prettier';
import { CATALOG, type CatalogEntry, type JsonObject } from '#libs/domain';

const HEADER = '// Written by `npm run generate` from the catalog of libs/domain.';

/** Leaves out deprecated types: no such event is ever emitted. */
const ENTRIES = CATALOG.filter((entry) => !entry.deprecated);

function pascalCase(name: string): string {
  return name
    .split(/[._]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

/** A schema that several types share is named after their family, any other after its type. */
function namesBySchema(): ReadonlyMap<JsonObject, string> {
  const sharers = new Map<JsonObject, readonly CatalogEntry[]>();
  for (const entry of ENTRIES) sharers.set(entry.schema, [...(sharers.get(entry.schema) ?? []), entry]);
  const named = [...sharers].map(([schema, entries]) => {
    const [first] = entries;
    const name = entries.length === 1 ? first?.event : first?.family;
    return [schema, `${pascalCase(name ?? '')}Data`] as const;
  });
  return new Map(named);
}

function union(types: readonly string[]): string {
  return types.map((type) => `'${type}'`).join(' | ');
}

/**
 * Returns the text of `event-data.ts`: the type of `data` for each event type, from the JSON Schemas of the catalog.
 */
export async function eventTypesSource(path: string): Promise<string> {
  const names = namesBySchema();
  const interfaces: string[] = [];
  for (const [schema, name] of names) {
    // The compiler modifies its argument, so pass a copy.
    interfaces.push(await compile(structuredClone(schema), name, { bannerComment: '', format: false }));
  }
  const members = ENTRIES.map(
    ({ event, description, schema }) => `/** ${description} */ '${event}': ${names.get(schema) ?? ''};`,
  );
  const orgWide = ENTRIES.filter(({ scope }) => scope === 'org').map(({ event }) => event);
  const subscribable = ENTRIES.filter(({ event }) => event !== 'test').map(({ event }) => `'${event}'`);
  const source = [
    HEADER,
    ...interfaces,
    `/** What \`data\` is, by event type. */ export interface EventDataByType { ${members.join('\n')} }`,
    `/** Types whose events belong to no widget (contract 7.3). */ export type OrgWideEventType = ${union(orgWide)};`,
    `/** All that an endpoint can subscribe to and that is ever emitted. */
     export const EVENT_TYPES = [${subscribable.join(', ')}] as const;`,
  ].join('\n\n');
  return format(source, { ...(await resolveConfig(path)), filepath: path });
}
