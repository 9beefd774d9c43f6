/** An error that an operator can fix. Its message says how, and is all that they need to read. */
export abstract class OperatorError extends Error {}

/** Returns the text to print when a process ends by the error: the message of an OperatorError, otherwise the stack. */
export function explain(error: unknown): string {
  if (error instanceof OperatorError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
