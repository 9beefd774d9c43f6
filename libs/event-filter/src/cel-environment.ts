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

/** What evaluates expressions. The library does not export it. */
interface Evaluator {
  debugType(value: unknown): unknown;
  debugTypeDeep(value: unknown): unknown;
}

/**
 * Lets the library distinguish a list, a map and a text, and no more. By itself it distinguishes lists of lists from lists
 * of texts, and so on, and keeps a type for each nesting that it meets for ever: one tenant's events could fill the memory.
 * All environments share what evaluates.
 */
function ignoreNestings(): void {
  let evaluator: Evaluator | undefined;
  const environment = new Environment().registerFunction('evaluator(): bool', function (this: Evaluator) {
    evaluator = Object.getPrototypeOf(this) as Evaluator;
    return true;
  });
  environment.evaluate('evaluator()');
  if (typeof evaluator?.debugTypeDeep !== 'function')
    throw new Error('this version of cel-js keeps types in another way');
  evaluator.debugTypeDeep = function (value) {
    return this.debugType(value);
  };
}

ignoreNestings();

/** The name by which filters know the envelope. */
export const EVENT = 'event';
