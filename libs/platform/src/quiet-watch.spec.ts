import { expect, it } from '@jest/globals';
import { QuietWatch } from './quiet-watch.js';

it('says once that a process has been quiet for five minutes after it was busy', () => {
  const watch = new QuietWatch();
  const busy = [8_000];
  const quiet = (looks: number) => Array<number>(looks).fill(1_000);
  const cpuMsOfTenSeconds = [...quiet(40), ...busy, ...quiet(29), ...busy, ...quiet(70)];
  const looks = cpuMsOfTenSeconds.map((cpuMs) => watch.look(cpuMs, 10_000));
  expect(looks.flatMap((isTold, index) => (isTold ? [index] : []))).toEqual([100]);
});
