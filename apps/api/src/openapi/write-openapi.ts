import { readFile, writeFile } from 'node:fs/promises';
import { OPENAPI_JSON } from './openapi-document.js';

/**
 * `node write-openapi.js <file> [--check]`: writes the description of the HTTP interface to the file; with `--check`, fails
 * if the file is not that already.
 */
const [path, flag] = process.argv.slice(2);
if (path === undefined) {
  process.stderr.write('usage: write-openapi <file> [--check]\n');
  process.exitCode = 2;
} else if (flag !== '--check') {
  await writeFile(path, OPENAPI_JSON);
} else if ((await readFile(path, 'utf8').catch(() => '')) !== OPENAPI_JSON) {
  process.stderr.write(`${path} is not what the sources describe: write it again\n`);
  process.exitCode = 1;
}
