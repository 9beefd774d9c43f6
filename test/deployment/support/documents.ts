import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../../support/root.js';

/** A document of a YAML file. */
export interface YamlDocument {
  /** Relative to the checkout. */
  readonly file: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** @param directory relative to the checkout */
export function yamlFilesIn(directory: string): readonly string[] {
  return readdirSync(join(ROOT, directory))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(directory, name));
}

/** @throws Error when the file is not YAML */
export function readDocuments(file: string): readonly YamlDocument[] {
  return parseAllDocuments(readText(file), { merge: true }).map((document) => {
    if (document.errors[0] !== undefined) throw new Error(`${file}: ${document.errors[0].message}`);
    return { file, content: document.toJS() as Readonly<Record<string, unknown>> };
  });
}

/** @param file relative to the checkout */
export function readText(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}
