import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';
import { trackedFiles } from './tracked-files.js';

const STAGES_AND_LIBS = trackedFiles('apps', 'libs')
  .filter((path) => /(?<!\.d|spec)\.ts$/.test(path))
  .map((path) => readFileSync(join(ROOT, path), 'utf8'))
  .join('\n');

/** Names such as `batch.waiting` in the first column of the table of log lines. */
function documentedLines(): readonly string[] {
  const [, section = ''] = readFileSync(join(ROOT, 'docs/operate.md'), 'utf8').split('\n## Logs\n');
  const [logs = ''] = section.split('\n## ');
  return [...logs.matchAll(/^\| ([^|]+)/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, name = '']) => name),
  );
}

describe('the log lines of the operations page', () => {
  it('are found', () => {
    expect(documentedLines().length).toBeGreaterThan(15);
  });

  it('are logged by the code', () => {
    expect(documentedLines().filter((name) => !STAGES_AND_LIBS.includes(`'${name}'`))).toEqual([]);
  });
});
