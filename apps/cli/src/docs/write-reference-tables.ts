import { readFile, writeFile } from 'node:fs/promises';
import { REFERENCE_TABLES } from './reference-tables.js';

// Brings the tables in the documents up to date, from the root of the repository.
for (const [path, update] of Object.entries(REFERENCE_TABLES)) {
  await writeFile(path, update(await readFile(path, 'utf8')));
}
