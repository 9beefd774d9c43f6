import { readFile, writeFile } from 'node:fs/promises';
import { REFERENCE_TABLES } from './reference-tables.js';

// Updates the generated tables of the documents. Run it in the root of the repository.
for (const [path, update] of Object.entries(REFERENCE_TABLES)) {
  await writeFile(path, update(await readFile(path, 'utf8'), '.'));
}
