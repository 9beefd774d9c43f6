import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';

/** Where time comes from, and code of others who have no clock to pass. */
const WITHOUT_A_CLOCK = [
  'apps/dashboard/src/samples/node-sample.ts',
  'apps/dashboard/src/time/clock.ts',
  'libs/cli/src/gapless.ts',
  'libs/domain/src/kernel/clock.ts',
  'libs/producer/src/events/ready-event.ts',
  'libs/webhook-signature/src/verify-signature.ts',
];

it('time and randomness are arguments: nothing else reads the clock of the wall, or Math.random', () => {
  const sources = ['apps', 'libs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path) && !/\.i?spec\.ts$/.test(path))
      .map((path) => join(folder, path)),
  );
  const read = sources.filter((path) =>
    /\bnew Date\(\)|\bDate\.now\b|\bMath\.random\b/.test(readFileSync(join(ROOT, path), 'utf8')),
  );
  expect(read.toSorted()).toEqual(WITHOUT_A_CLOCK);
});
