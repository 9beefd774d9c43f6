import { describe, expect, it } from '@jest/globals';
import { stagesIn, type CpuProfile } from './cpu-profile.js';
import { stackTree, type StackFrame } from './stack-tree.js';

function node(id: number, functionName: string, url: string, ...children: number[]) {
  return { id, callFrame: { functionName, url, lineNumber: 0 }, children };
}

const PROFILE: CpuProfile = {
  nodes: [
    node(1, '(root)', '', 2, 3, 6),
    node(2, '(idle)', ''),
    node(3, 'handle', 'file:///x/dist/apps/router/src/route.js', 4, 5),
    node(4, 'produce', 'file:///x/node_modules/kafkajs/src/producer/index.js'),
    // The same function again, called from another place in it.
    node(5, 'produce', 'file:///x/node_modules/kafkajs/src/producer/index.js'),
    node(6, '', 'node:net'),
  ],
  startTime: 1_000_000,
  samples: [4, 2, 5, 6, 3],
  timeDeltas: [0, 2_000, 3_000, 4_000, 5_000, 0],
};

function told({ name, origin, totalMs, children }: StackFrame): unknown {
  return [name, origin, totalMs, ...[...children.values()].map(told)];
}

describe('a stack tree', () => {
  it('adds up the time of each way in which a function was called, and leaves out idling', () => {
    expect(told(stackTree(PROFILE))).toEqual([
      'all',
      'engine',
      11,
      ['handle route.js', 'own', 6, ['produce kafkajs/index.js', 'package', 6]],
      ['(anonymous) node:net', 'node', 5],
    ]);
  });

  it('holds a stretch of the time', () => {
    expect(stackTree(PROFILE, { fromMs: 1_004, toMs: 1_006 }).totalMs).toBe(4);
  });
});

describe('a profile', () => {
  it('shows which stages ran on the thread', () => {
    expect(stagesIn(PROFILE)).toEqual(['router']);
  });
});
