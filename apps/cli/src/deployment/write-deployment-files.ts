import { readFile, writeFile } from 'node:fs/promises';
import { DEPLOYMENT_FILES } from './deployment-files.js';

// Updates the files that name every stage. Run it in the root of the repository.
for (const [path, update] of Object.entries(DEPLOYMENT_FILES)) {
  await writeFile(path, update(await readFile(path, 'utf8')));
}
