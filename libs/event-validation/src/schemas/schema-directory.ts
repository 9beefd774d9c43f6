import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonObject } from '#libs/domain';
import type { SchemaFile } from './event-schema-files.js';
import { breakingChanges } from './schema-changes.js';

const textOf = (schema: JsonObject): string => `${JSON.stringify(schema, null, 2)}\n`;

/** Returns the committed schemas by file name; none if the directory does not exist. */
async function committedTexts(directory: string): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(directory).catch((): string[] => []);
  const schemas = names.filter((name) => name.endsWith('.json'));
  return new Map(
    await Promise.all(schemas.map(async (name) => [name, await readFile(join(directory, name), 'utf8')] as const)),
  );
}

/** Returns the files that differ from the sources, including superfluous ones. */
export async function driftedFiles(directory: string, files: readonly SchemaFile[]): Promise<readonly string[]> {
  const committed = await committedTexts(directory);
  const wanted = new Map(files.map(({ name, schema }) => [name, textOf(schema)]));
  const names = new Set([...committed.keys(), ...wanted.keys()]);
  return [...names].filter((name) => committed.get(name) !== wanted.get(name)).toSorted();
}

/** Returns the changes of the files that would break a consumer, one line each. */
export async function breakingLines(directory: string, files: readonly SchemaFile[]): Promise<readonly string[]> {
  const wanted = new Map(files.map(({ name, schema }) => [name, schema]));
  return [...(await committedTexts(directory))].flatMap(([name, text]) => {
    const schema = wanted.get(name);
    if (schema === undefined) return [`${name}: breaks deployed consumers: is not described any more`];
    return breakingChanges(JSON.parse(text) as JsonObject, schema).map(
      ({ pointer, breaks, detail }) => `${name}#${pointer}: breaks ${breaks} consumers: ${detail}`,
    );
  });
}

/** Writes the files to the directory, and removes other schemas from it. */
export async function writeSchemas(directory: string, files: readonly SchemaFile[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  const wanted = new Set(files.map(({ name }) => name));
  for (const name of (await committedTexts(directory)).keys()) if (!wanted.has(name)) await rm(join(directory, name));
  for (const { name, schema } of files) await writeFile(join(directory, name), textOf(schema));
}
