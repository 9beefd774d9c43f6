/** An error as log lines show it. */
export interface DescribedError {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly code?: string;
  readonly cause?: DescribedError;
}

/** The most nested causes that are logged. */
const DEEPEST = 5;

/** Keeps only the useful members of an error. Library errors carry more, such as the parameters of a query. */
export function describeError(error: unknown, depth = 0): DescribedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error), stack: '' };
  const { code } = error as { readonly code?: unknown };
  return {
    type: error.name === 'Error' ? error.constructor.name : error.name,
    message: error.message,
    stack: error.stack ?? '',
    ...(typeof code === 'string' ? { code } : {}),
    ...(error.cause === undefined || depth >= DEEPEST ? {} : { cause: describeError(error.cause, depth + 1) }),
  };
}
