import { holds, judge, type Verdict } from './verdict.js';
import type { Traffic } from './traffic.js';

/** What became of what was submitted. */
export interface Proof {
  /** Whether everything that the service promises held. */
  readonly kind: 'held' | 'broken';
  readonly verdict: Verdict;
  readonly longestStallMs: number;
  /** The problems, in words. */
  readonly problems: readonly string[];
}

/** Ends the load, waits until everything is where it belongs, then reads it all and weighs it. */
export async function prove(traffic: Traffic, print: (progress: string) => void): Promise<Proof> {
  print('waiting until everything is where it belongs');
  await traffic.untilFlowing();
  const unsettled = await traffic.settle();
  print('reading log, feeds and pushes');
  const verdict = judge(await traffic.evidence());
  const problems = [...verdict.problems, ...unsettled];
  const kind = holds(verdict) && problems.length === 0 ? 'held' : 'broken';
  return { kind, verdict, longestStallMs: traffic.longestStallMs, problems };
}
