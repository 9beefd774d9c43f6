import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { mutate } from '../../mutations/mutation.js';
import { ROOT } from '../../support/root.js';
import { SIMULATED_MUTATIONS } from './simulated-mutations.js';

function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

describe('the mutations that the simulation finds', () => {
  it.each(SIMULATED_MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
    '%s still breaks what it names',
    (_name, mutation) => {
      const source = textOf(mutation.file);
      expect(mutate(mutation, source)).not.toBe(source);
    },
  );

  it('are in docs/testing.md', () => {
    const page = textOf('docs/testing.md');
    for (const { name, breaks } of SIMULATED_MUTATIONS) expect(page).toMatch(new RegExp(`\`${name}\` +\\| ${breaks}`));
  });
});
