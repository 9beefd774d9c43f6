import { describe, expect, it } from '@jest/globals';
import { busySeconds, parseProcessStat } from './process-usage.js';

const STAT = `4711 (a) b (c) S 12 4711 4711 0 -1 4194304 100 200 0 0 150 50 300 25 20 0 1 0 4242 1000000 250`;

describe('/proc/<pid>/stat', () => {
  it('is read after a name that holds spaces and parentheses', () => {
    expect(parseProcessStat(STAT)).toEqual({
      pid: 4711,
      parent: 12,
      name: 'a) b (c',
      cpuSeconds: 2,
      endedChildrenCpuSeconds: 3.25,
    });
  });
});

describe('/proc/stat', () => {
  it('says how long the machine was busy, without idling and waiting for disks', () => {
    expect(busySeconds('cpu  100 200 300 9999 9999 10 20 30 5 6\ncpu0 1 2 3')).toBe(6.6);
  });
});
