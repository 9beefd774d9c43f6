import { NODE, originOf, ownerOf, type Origin } from './code-owner.js';
import { ALWAYS, type CallFrame, type CpuProfile, type Stretch } from './cpu-profile.js';

/** A function, and what it called, over all samples in which it was called in this way. */
export interface StackFrame {
  readonly name: string;
  readonly origin: Origin;
  readonly owner: string;
  /** CPU time in it and in what it called, in milliseconds. */
  totalMs: number;
  readonly children: Map<string, StackFrame>;
}

/** The frame that the engine reports when nothing runs: no use of the processor. */
const IDLE = '(idle)';

/** The function and its file; of a package, its name too. */
function nameOf({ functionName, url }: CallFrame): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name;
  const inPackage = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/.*?([^/]+)$/.exec(url);
  if (inPackage !== null) return `${name} ${inPackage[1] ?? ''}/${inPackage[2] ?? ''}`;
  return `${name} ${url.startsWith('node:') ? url : (/[^/]+$/.exec(url)?.[0] ?? '')}`;
}

function frame(name: string, origin: Origin, owner: string): StackFrame {
  return { name, origin, owner, totalMs: 0, children: new Map() };
}

/** Puts the samples of a stretch on top of each other: one frame for each way in which a function was called. */
export function stackTree(profile: CpuProfile, { fromMs, toMs }: Stretch = ALWAYS): StackFrame {
  const root = frame('all', 'engine', NODE);
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const parents = new Map(profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const stackOf = (leaf: number): readonly CallFrame[] => {
    const stack: CallFrame[] = [];
    for (let id: number | undefined = leaf; id !== undefined; id = parents.get(id)) {
      const node = nodes.get(id);
      if (node !== undefined) stack.push(node.callFrame);
    }
    // The last one is the root of the profile.
    return stack.slice(0, -1).reverse();
  };
  const stacks = new Map<number, readonly CallFrame[]>();
  let atUs = profile.startTime;
  for (const [index, leaf] of profile.samples.entries()) {
    atUs += profile.timeDeltas[index] ?? 0;
    if (atUs < fromMs * 1_000 || atUs > toMs * 1_000) continue;
    if (nodes.get(leaf)?.callFrame.functionName === IDLE) continue;
    // What a sample found is taken to have lasted until the next one.
    const lastedMs = Math.max(0, profile.timeDeltas[index + 1] ?? 0) / 1_000;
    const stack = stacks.get(leaf) ?? stackOf(leaf);
    stacks.set(leaf, stack);
    root.totalMs += lastedMs;
    let parent = root;
    for (const callFrame of stack) {
      const name = nameOf(callFrame);
      const child = parent.children.get(name) ?? frame(name, originOf(callFrame), ownerOf(callFrame));
      parent.children.set(name, child);
      child.totalMs += lastedMs;
      parent = child;
    }
  }
  return root;
}
