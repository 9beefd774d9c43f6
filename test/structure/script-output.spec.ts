import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { runProgram } from '../support/outside-clients.js';
import { ROOT } from '../support/root.js';

it('prepares a checkout without a word on standard output, which belongs to the command', async () => {
  const script = `
    import { runSteps } from ${JSON.stringify(join(ROOT, 'scripts/bootstrap.mjs'))};
    await runSteps([{ title: 'Building', act: async () => {} }]);
    console.log('the key');
  `;
  expect((await runProgram(process.execPath, ['--input-type=module', '-e', script])).toString()).toBe('the key\n');
});
