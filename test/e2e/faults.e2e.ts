import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mkdtempSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { shortForm } from '../faults/kinds/short-form.js';
import { runFault } from '../faults/run-fault.js';

it('nothing is lost, repeated or changed when stages and the broker are killed under load', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gapless-faults-'));
  const outcome = await runFault(shortForm, {
    dataDir: join(directory, 'data'),
    logsDir: join(directory, 'logs'),
    seed: 1,
    signal: new AbortController().signal,
    print: () => undefined,
  });
  expect(outcome).toMatchObject({
    kind: 'held',
    verdict: { lost: 0, repeated: 0, gaps: 0, mismatches: 0, unpushed: 0, inversions: 0, problems: [] },
    problems: [],
  });
  if (outcome.kind === 'held') expect(outcome.verdict.acknowledged).toBeGreaterThan(100);
});
