import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { toolsTable } from '../../scripts/outside-tools.mjs';
import { ROOT } from '../support/root.js';

it('the table of tools in docs/testing.md names what is run, in its version', () => {
  expect(readFileSync(join(ROOT, 'docs/testing.md'), 'utf8')).toContain(toolsTable(ROOT));
});
