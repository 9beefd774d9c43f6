import { answeringFor, NODE } from './code-owner.js';
import type { StackFrame } from './stack-tree.js';

/** How much of the CPU time was used on behalf of somebody's code: 0 … 1. */
export interface OwnerShare {
  readonly owner: string;
  readonly share: number;
}

/** A smaller share is left out. */
const LEAST_SHARE = 0.01;

/**
 * Who used the time, most first: the code of a package or of Gapless, together with what Node and the engine did for it.
 * Collecting garbage is counted by itself, since nobody calls it.
 */
export function ownerShares(root: StackFrame): readonly OwnerShare[] {
  const byOwner = new Map<string, number>();
  const add = (frame: StackFrame, caller: string) => {
    const owner = answeringFor(frame, caller);
    const inCalls = [...frame.children.values()].reduce((sum, { totalMs }) => sum + totalMs, 0);
    byOwner.set(owner, (byOwner.get(owner) ?? 0) + frame.totalMs - inCalls);
    for (const child of frame.children.values()) add(child, owner);
  };
  add(root, NODE);
  return [...byOwner]
    .map(([owner, ms]) => ({ owner, share: ms / root.totalMs }))
    .filter(({ share }) => share >= LEAST_SHARE)
    .sort((a, b) => b.share - a.share);
}

export function sharesText(shares: readonly OwnerShare[]): string {
  return shares.map(({ owner, share }) => `${owner} ${(share * 100).toFixed(0)} %`).join(', ');
}
