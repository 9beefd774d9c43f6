import { join } from 'node:path';
import { expect } from '@jest/globals';
import { itUnless, LACKS, runProgram } from '../support/outside-clients.js';
import { ROOT } from '../support/root.js';
import { readDocuments, yamlFilesIn } from './support/documents.js';

const FOLDERS = ['docker', 'docker/kubernetes', 'docker/observability/prometheus'];
const FILES = FOLDERS.flatMap((folder) => yamlFilesIn(folder));

/** Prints the documents of a YAML file as JSON. */
const READ = 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(open(sys.argv[1]))), sys.stdout)';

for (const file of [...FILES, 'docker/helm/Chart.yaml', 'docker/helm/values.yaml']) {
  itUnless(LACKS.pythonYaml, `Python reads the same from ${file} as Node`, async () => {
    const read = await runProgram('python3', ['-c', READ, join(ROOT, file)]);
    expect(JSON.parse(read.toString())).toEqual(readDocuments(file).map(({ content }) => content));
  });
}
