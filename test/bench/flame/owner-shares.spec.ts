import { describe, expect, it } from '@jest/globals';
import type { Origin } from './code-owner.js';
import { ownerShares, sharesText } from './owner-shares.js';
import type { StackFrame } from './stack-tree.js';

function frame(
  name: string,
  origin: Origin,
  owner: string,
  totalMs: number,
  ...children: readonly StackFrame[]
): StackFrame {
  return { name, origin, owner, totalMs, children: new Map(children.map((child) => [child.name, child])) };
}

describe('who used the time', () => {
  it('is the caller of Node or the engine, and the garbage collector by itself', () => {
    const write = frame('writev', 'engine', 'writev', 30);
    const send = frame('send', 'package', 'kafkajs', 40, write);
    const handle = frame('handle', 'own', 'Gapless', 60, send);
    const collect = frame('(garbage collector)', 'engine', '(garbage collector)', 25);
    const shares = ownerShares(frame('all', 'engine', 'Node', 100, handle, collect));
    expect(sharesText(shares)).toBe('kafkajs 40 %, (garbage collector) 25 %, Gapless 20 %, Node 15 %');
  });

  it('leaves out next to nothing', () => {
    const tiny = frame('f', 'own', 'Gapless', 0.5);
    expect(ownerShares(frame('all', 'engine', 'Node', 100, tiny)).map(({ owner }) => owner)).toEqual(['Node']);
  });
});
