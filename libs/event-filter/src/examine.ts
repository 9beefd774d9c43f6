import type { ASTNode } from '@marcbachmann/cel-js';
import { EVENT } from './cel-environment.js';
import { refuse } from './filter-problem.js';
import { memberPath } from './member-path.js';

/** What an expression does with each element of a list. */
interface ListCost {
  /** The list. */
  readonly names: readonly string[];
  /** The nodes that are evaluated for each element. */
  readonly nodes: number;
  /** How often each element is read through. */
  readonly elementScans: number;
  /** How often, for each element, another part of the event may be read through. */
  readonly eventScans: number;
}

/** What an evaluation costs, as a function of the event. */
export interface FilterCost {
  readonly nodes: number;
  /** How often a part of the event may be read through. */
  readonly scans: number;
  /** How many values may be joined to a longer one, which other parts of the filter then read through. */
  readonly joins: number;
  readonly lists: readonly ListCost[];
}

const FUNCTIONS: ReadonlySet<string> = new Set(['has', 'size', 'int', 'double', 'string']);
const LIST_MACROS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter']);
const TEXT_SEARCHES: ReadonlySet<string> = new Set(['contains', 'startsWith', 'endsWith']);
const METHODS: ReadonlySet<string> = new Set([...TEXT_SEARCHES, 'size', 'lowerAscii', 'upperAscii']);
const KNOWN = [...FUNCTIONS, ...METHODS, ...LIST_MACROS].filter((name, at, all) => all.indexOf(name) === at).join(', ');

/** `contains` with a longer text could compare many characters at each place of a long text. */
const MAX_SEARCHED_TEXT = 200;

/** Functions that read through their operand. */
const SCANNING: ReadonlySet<string> = new Set([
  ...['size', 'string', 'int', 'double'],
  ...['contains', 'lowerAscii', 'upperAscii'],
]);
/** Operators that may read through both operands, unless the filter itself holds one. */
const COMPARING: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=']);

/** Costs, while they are added up. */
interface Tally {
  nodes: number;
  ownScans: number;
  eventScans: number;
}

/** Adds up what an expression costs, and refuses what it must not hold. */
class Examination {
  readonly lists: ListCost[] = [];
  joins = 0;
  readonly outside: Tally = { nodes: 0, ownScans: 0, eventScans: 0 };
  /** The part that is being examined: the filter, or what it does with each element of a list. */
  #tally = this.outside;
  /** The name of the element; `null` outside of lists. */
  #element: string | null = null;

  /** @returns whether the node depends on the event other than by the element of a list */
  examine(node: ASTNode): boolean {
    this.#tally.nodes++;
    if (node.op === 'value') {
      if (typeof node.args !== 'object' || node.args === null) return false;
      refuse(node, 'bytes and unsigned integers are not available. Write "text", 5 or 5.0.');
    }
    if (node.op === 'id') {
      if (node.args === this.#element) return false;
      if (node.args === EVENT) return true;
      refuse(node, `there is no "${node.args}". The event is called event, such as event.data.`);
    }
    if (node.op === 'call') return this.#call(node, ...node.args);
    if (node.op === 'rcall') return this.#method(node, ...node.args);
    if (node.op === 'map') refuse(node, 'maps are not available.');
    return this.#operator(node);
  }

  #operator(node: ASTNode): boolean {
    const operands = operandsOf(node);
    const ofEvent = this.#all(operands);
    const [, right] = operands;
    if (node.op === '+') this.joins++;
    const reads =
      node.op === '+' ||
      // An index is read as a text, a list as that of all its elements.
      ((node.op === 'in' || node.op === '[]') && right !== undefined && !isWrittenOut(right)) ||
      (COMPARING.has(node.op) && !operands.some(isWrittenOut));
    if (reads) this.#scan(ofEvent);
    if (node.op === 'list') {
      // A comparison reads each of its parts through, and a filter may name a long part often.
      const parts = operands.filter((operand) => !isWrittenOut(operand));
      for (let nth = 1; nth < parts.length; nth++) this.#scan(ofEvent);
    }
    return ofEvent;
  }

  #call(node: ASTNode, name: string, operands: readonly ASTNode[]): boolean {
    if (!FUNCTIONS.has(name)) unknownFunction(node, name);
    const ofEvent = this.#all(operands);
    if (SCANNING.has(name)) this.#scan(ofEvent);
    return ofEvent;
  }

  #method(node: ASTNode, name: string, receiver: ASTNode, operands: readonly ASTNode[]): boolean {
    if (LIST_MACROS.has(name)) return this.#list(node, name, receiver, operands);
    if (!METHODS.has(name)) unknownFunction(node, name);
    const ofEvent = this.#all([receiver, ...operands]);
    if (TEXT_SEARCHES.has(name)) {
      const [text] = operands;
      const isText = text?.op === 'value' && typeof text.args === 'string' && text.args.length <= MAX_SEARCHED_TEXT;
      if (!isText) refuse(text ?? node, `${name} takes a text in quotes of at most ${MAX_SEARCHED_TEXT} characters.`);
    }
    if (SCANNING.has(name)) this.#scan(ofEvent);
    return ofEvent;
  }

  #list(node: ASTNode, name: string, receiver: ASTNode, [element, ...bodies]: readonly ASTNode[]): boolean {
    if (this.#element !== null)
      refuse(node, `${name} must not be inside of another all, exists, exists_one or filter.`);
    const path = memberPath(receiver);
    if (path === undefined) refuse(receiver, `${name} takes a list of the event, such as event.data.items.${name}(…).`);
    if (element?.op !== 'id' || element.args === EVENT) {
      refuse(element ?? node, `${name} takes a new name for the element, such as event.data.items.${name}(item, …).`);
    }
    this.examine(receiver);
    const tally = { nodes: 0, ownScans: 0, eventScans: 0 };
    [this.#tally, this.#element] = [tally, element.args];
    this.#all(bodies);
    [this.#tally, this.#element] = [this.outside, null];
    const { nodes, ownScans, eventScans } = tally;
    this.lists.push({ names: path.names, nodes, elementScans: ownScans, eventScans });
    return true;
  }

  #all(nodes: readonly ASTNode[]): boolean {
    return nodes.map((node) => this.examine(node)).some(Boolean);
  }

  #scan(ofEvent: boolean): void {
    if (ofEvent) this.#tally.eventScans++;
    else this.#tally.ownScans++;
  }
}

function unknownFunction(node: ASTNode, name: string): never {
  if (name === 'matches') refuse(node, 'regular expressions are not available. Use contains, startsWith or endsWith.');
  refuse(node, `there is no function "${name.slice(0, 40)}". Filters may use ${KNOWN}.`);
}

/** Whether the filter itself holds the whole value, so that it is short. */
function isWrittenOut(node: ASTNode): boolean {
  return node.op === 'value' || ((node.op === 'list' || node.op === '-_') && operandsOf(node).every(isWrittenOut));
}

/** Returns the operands of an operator. */
export function operandsOf({ args }: ASTNode): readonly ASTNode[] {
  const list: readonly unknown[] = Array.isArray(args) ? args : [args];
  return list.filter((one): one is ASTNode => typeof one === 'object' && one !== null);
}

/** Returns what the expression costs. @throws FilterRefusal if it holds what filters must not hold */
export function examine(node: ASTNode): FilterCost {
  const examination = new Examination();
  examination.examine(node);
  const { nodes, ownScans, eventScans } = examination.outside;
  return { nodes, scans: ownScans + eventScans, joins: examination.joins, lists: examination.lists };
}
