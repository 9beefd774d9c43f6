import type { ASTNode } from '@marcbachmann/cel-js';
import { EVENT } from './cel-environment.js';

/** A member of the event, as an expression names it. */
export interface MemberPath {
  readonly names: readonly string[];
  /** Where each name is in the text, from 0. */
  readonly offsets: readonly number[];
}

/** Returns the member that the node names, such as `event.data.priority`; `undefined` if it is something else. */
export function memberPath(node: ASTNode): MemberPath | undefined {
  const names: string[] = [];
  const offsets: number[] = [];
  let at = node;
  while (at.op === '.' || at.op === '[]') {
    const [of, name]: readonly [ASTNode, string | ASTNode] = at.args;
    if (typeof name === 'string') names.unshift(name);
    else if (name.op === 'value' && typeof name.args === 'string') names.unshift(name.args);
    else return undefined;
    offsets.unshift(at.pos);
    at = of;
  }
  return at.op === 'id' && at.args === EVENT ? { names, offsets } : undefined;
}

/** Returns the value of a member; `undefined` if it is missing. */
export function valueAt(event: unknown, names: readonly string[]): unknown {
  let value = event;
  for (const name of names) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}
