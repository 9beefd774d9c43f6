import type { ASTNode } from '@marcbachmann/cel-js';
import { EVENT } from './cel-environment.js';
import { listingOf } from './event-shape.js';
import { operandsOf } from './examine.js';
import { refuse } from './filter-problem.js';
import { memberPath, type MemberPath } from './member-path.js';
import type { JsonObject } from '#libs/domain';

/** The operand of `has(…)`. */
export function guardedMember(node: ASTNode): ASTNode | undefined {
  return node.op === 'call' && node.args[0] === 'has' ? node.args[1][0] : undefined;
}

/** Checks the members that an expression names against the events of one type. */
export class TypeChecks {
  readonly #found = new Map<ASTNode, boolean | undefined>();

  constructor(
    private readonly event: string,
    private readonly schema: JsonObject,
  ) {}

  /**
   * Checks every part of the expression that may be evaluated for an event of the type.
   * @throws FilterRefusal if it names a member that the type does not list
   */
  check(node: ASTNode): void {
    if (this.#known(node) !== undefined) return;
    const guarded = guardedMember(node);
    if (guarded !== undefined) {
      const asked = memberPath(guarded);
      // Every envelope has the same members.
      if (asked?.names.length === 1) this.#checkMember(asked);
      // `has(event.data.a.b)` fails without `a`.
      else for (const of of operandsOf(guarded)) this.check(of);
      return;
    }
    const path = memberPath(node);
    if (path !== undefined) {
      this.#checkMember(path);
      return;
    }
    if (node.op === '?:') {
      const [condition, ifTrue, ifFalse] = node.args;
      const known = this.#known(condition);
      if (known === undefined) this.check(condition);
      if (known !== false) this.check(ifTrue);
      if (known !== true) this.check(ifFalse);
      return;
    }
    for (const operand of evaluated(node)) this.check(operand);
  }

  #checkMember({ names, offsets }: MemberPath): void {
    for (let length = 1; length <= names.length; length++) {
      const listing = listingOf(this.schema, names.slice(0, length));
      if (listing === 'open') return;
      if (listing === 'listed') continue;
      const of = [EVENT, ...names.slice(0, length - 1)].join('.');
      const name = String(names[length - 1]).slice(0, 40);
      const advice =
        length === 1
          ? `An event has id, seq, event, occurred_at, timestamp, org_id, widget_id and data.`
          : `If other types have it, or your producer adds it, write has(${of}.${name}) && before it.`;
      refuse({ start: offsets[length - 1] ?? 0 }, `${of} of ${this.event} has no member "${name}". ${advice}`);
    }
  }

  /** Returns what the node is for every event of the type; `undefined` if that depends on the event. */
  #known(node: ASTNode): boolean | undefined {
    if (!this.#found.has(node)) this.#found.set(node, this.#find(node));
    return this.#found.get(node);
  }

  #find(node: ASTNode): boolean | undefined {
    const guarded = guardedMember(node);
    if (guarded !== undefined) return this.#hasMember(guarded);
    if (node.op === 'value') return typeof node.args === 'boolean' ? node.args : undefined;
    if (node.op === '!_') {
      const known = this.#known(node.args);
      return known === undefined ? undefined : !known;
    }
    if (node.op === '&&' || node.op === '||') {
      return either(node.op === '||', this.#known(node.args[0]), this.#known(node.args[1]));
    }
    return this.#isOfType(node);
  }

  /** Returns what a comparison with the type of the event is. */
  #isOfType(node: ASTNode): boolean | undefined {
    if (node.op === '==' || node.op === '!=') {
      const [left, right] = node.args;
      const text = isType(left) ? textOf(right) : isType(right) ? textOf(left) : undefined;
      return text === undefined ? undefined : (text === this.event) === (node.op === '==');
    }
    if (node.op === 'in') {
      const [left, right] = node.args;
      if (!isType(left) || right.op !== 'list') return undefined;
      const texts = right.args.map(textOf);
      return texts.includes(undefined) ? undefined : texts.includes(this.event);
    }
    if (node.op !== 'rcall') return undefined;
    const [name, receiver, [operand]] = node.args;
    const text = operand === undefined ? undefined : textOf(operand);
    if (!isType(receiver) || text === undefined) return undefined;
    if (name === 'startsWith') return this.event.startsWith(text);
    return name === 'endsWith' ? this.event.endsWith(text) : undefined;
  }

  /** `false` for a member of data that the type does not list: what comes after it is for other events. */
  #hasMember(guarded: ASTNode): false | undefined {
    const names = memberPath(guarded)?.names ?? [];
    const isListed = listingOf(this.schema, names.slice(0, -1)) !== 'unlisted';
    return names.length > 1 && isListed && listingOf(this.schema, names) === 'unlisted' ? false : undefined;
  }
}

/** Returns the operands that are evaluated: the name of a list's element is not. */
export function evaluated(node: ASTNode): readonly ASTNode[] {
  if (node.op === 'call') return node.args[1];
  if (node.op !== 'rcall') return operandsOf(node);
  const [, receiver, operands] = node.args;
  return [receiver, ...operands.filter(({ op }, at) => at > 0 || op !== 'id')];
}

/** `&&` is false if either operand is, and `||` true. */
function either(decisive: boolean, left: boolean | undefined, right: boolean | undefined): boolean | undefined {
  if (left === decisive || right === decisive) return decisive;
  return left === undefined || right === undefined ? undefined : !decisive;
}

function isType(node: ASTNode): boolean {
  const path = memberPath(node);
  return path?.names.length === 1 && path.names[0] === 'event';
}

function textOf(node: ASTNode): string | undefined {
  return node.op === 'value' && typeof node.args === 'string' ? node.args : undefined;
}
