import { EVENT_SCHEMA_FILES } from './event-schema-files.js';
import { breakingLines, driftedFiles, writeSchemas } from './schema-directory.js';

/**
 * `node write-schemas.js <directory> [--check | --accept-breaking]`: writes the schemas of the events to the directory.
 * If that would break consumers, it fails unless `--accept-breaking` is given. With `--check`, it writes nothing, and
 * fails if the directory differs.
 */
const [directory, flag] = process.argv.slice(2);

function fail(code: number, lines: readonly string[]): void {
  process.stderr.write(`${lines.join('\n')}\n`);
  process.exitCode = code;
}

if (directory === undefined) {
  fail(2, ['usage: write-schemas <directory> [--check | --accept-breaking]']);
} else if (flag === '--check') {
  const drifted = await driftedFiles(directory, EVENT_SCHEMA_FILES);
  if (drifted.length > 0) {
    fail(1, [`${directory} is not what the sources describe; npm run generate writes it:`, ...drifted]);
  }
} else {
  const breaking = flag === '--accept-breaking' ? [] : await breakingLines(directory, EVENT_SCHEMA_FILES);
  if (breaking.length === 0) await writeSchemas(directory, EVENT_SCHEMA_FILES);
  else fail(1, [...breaking, 'Nothing is written. If it has to be: npm run generate -- schemas --accept-breaking']);
}
