import { execFileSync } from 'node:child_process';

/** The processes that this one has started. */
export function childPidsOf(pid: number): readonly number[] {
  const listed = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  return listed
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));
}
