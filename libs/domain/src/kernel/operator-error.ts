/** What an operator can put right: the message says how, and is all that they need to read. */
export abstract class OperatorError extends Error {}

/** What a process that ends by the error prints: the words of an error for operators, the stack of any other. */
export function explain(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
