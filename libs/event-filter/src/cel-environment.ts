import { Environment } from '@marcbachmann/cel-js';

/** Limits on the text of a filter. They bound what it can cost, and how deep the parser and the evaluation recurse. */
const LIMITS = { maxAstNodes: 300, maxDepth: 24, maxListElements: 200, maxMapEntries: 1, maxCallArguments: 3 };

const ARITHMETIC: Readonly<Record<string, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
};

/**
 * Returns an environment of CEL whose numbers mix. A number in JSON is a double, and `1` in CEL is an int: strict CEL
 * refuses `event.seq % 2 == 0`.
 */
export function celEnvironment(): Environment {
  const environment = new Environment({ limits: LIMITS });
  for (const [operator, of] of Object.entries(ARITHMETIC)) {
    environment.registerOperator(`double ${operator} int: double`, (left: number, right: bigint) =>
      of(left, Number(right)),
    );
    environment.registerOperator(`int ${operator} double: double`, (left: bigint, right: number) =>
      of(Number(left), right),
    );
  }
  environment.registerOperator('double % double: double', (left: number, right: number) => left % right);
  environment.registerOperator('double == int', (left: number, right: bigint) => left === Number(right));
  return environment;
}

interface Overload {
  readonly handler: (left: object, right: object, ...more: readonly unknown[]) => boolean;
}

/** The operators of an environment. */
interface Registry {
  findBinaryOverload: (this: Registry, operator: string, left: unknown, right: unknown) => Overload;
}

/** What evaluates expressions. The library does not export it. */
interface Evaluator {
  readonly registry: Registry;
  readonly mapType: unknown;
  debugType(value: unknown): unknown;
  debugTypeDeep(value: unknown): unknown;
}

/** Changes how expressions are evaluated, in all environments: they share the functions of what evaluates. */
function changeEvaluation(): void {
  const environment = new Environment().registerFunction('evaluator(): bool', function (this: Evaluator) {
    ignoreNestings(Object.getPrototypeOf(this) as Evaluator);
    compareSizesFirst(this.registry, this.mapType);
    return true;
  });
  if (environment.evaluate('evaluator()') !== true) throw new Error('this version of cel-js evaluates in another way');
}

/**
 * Lets the library distinguish a list, a map and a text, and no more. By itself it distinguishes lists of lists from lists
 * of texts, and so on, and keeps a type for each nesting that it meets for ever: one tenant's events could fill the memory.
 */
function ignoreNestings(evaluator: Evaluator): void {
  if (typeof evaluator.debugTypeDeep !== 'function')
    throw new Error('this version of cel-js keeps types in another way');
  evaluator.debugTypeDeep = function (value) {
    return this.debugType(value);
  };
}

/**
 * Lets the library compare the sizes of two maps before their members, and remember the size of the left one. By itself it
 * lists the members of both, and would list a large map for each element of a list that it is looked for in: one of 9,000
 * members took 5 s in a list of 5,000 empty ones. So a comparison takes no longer than reading its right side.
 */
function compareSizesFirst(registry: Registry, mapType: unknown): void {
  const sizes = new WeakMap<object, number>();
  const sizeOf = (map: object): number => {
    let size = sizes.get(map);
    if (size === undefined) sizes.set(map, (size = Object.keys(map).length));
    return size;
  };
  const { handler } = registry.findBinaryOverload('==', mapType, mapType);
  const bySize: Overload = {
    handler: (left, right, ...more) => sizeOf(left) === Object.keys(right).length && handler(left, right, ...more),
  };
  const functions = Object.getPrototypeOf(registry) as Registry;
  const { findBinaryOverload } = functions;
  // The library asks this for the parts of what it compares.
  functions.findBinaryOverload = function (operator, left, right) {
    if (operator === '==' && left === mapType && right === mapType) return bySize;
    return findBinaryOverload.call(this, operator, left, right);
  };
}

changeEvaluation();

/** The name by which filters know the envelope. */
export const EVENT = 'event';
