import { expect, it } from '@jest/globals';
import { QuietWatch } from './quiet-watch.js';

it('says that a process has become quiet after it was busy, and once more a minute later', () => {
  const watch = new QuietWatch();
  const busy = 8_000;
  const quiet = 1_000;
  const cpuMsOfTenSeconds = [quiet, quiet, busy, busy, ...Array<number>(9).fill(quiet), busy, quiet];
  const looks = cpuMsOfTenSeconds.map((cpuMs) => watch.look(cpuMs, 10_000));
  expect(looks.flatMap((isTold, index) => (isTold ? [index] : []))).toEqual([4, 10, 14]);
});
