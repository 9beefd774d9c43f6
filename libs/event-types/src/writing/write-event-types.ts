import { writeFile } from 'node:fs/promises';
import { eventTypesSource } from './event-types-source.js';

/** `node write-event-types.js <file>`: writes the types of the events' payloads to the file. */
const [path] = process.argv.slice(2);
if (path === undefined) {
  process.stderr.write('usage: write-event-types <file>\n');
  process.exitCode = 2;
} else {
  await writeFile(path, await eventTypesSource(path));
}
