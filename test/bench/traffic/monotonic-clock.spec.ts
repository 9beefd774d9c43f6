import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { monotonicMs } from './monotonic-clock.js';

describe('the monotonic clock', () => {
  it('is the same in another process', () => {
    const before = monotonicMs();
    const script = 'process.stdout.write(String(Number(process.hrtime.bigint()) / 1e6))';
    const meanwhile = Number(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }));
    const after = monotonicMs();
    expect(before).toBeLessThan(meanwhile);
    expect(meanwhile).toBeLessThan(after);
  });
});
