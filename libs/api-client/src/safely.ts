/** A callback of the package's users. Its result does not matter. */
type Callback<Args extends readonly unknown[]> = (...args: Args) => unknown;

/**
 * Returns the callback in a form that never throws. Work in progress does not depend on callbacks that only report. If
 * one throws or rejects, Node prints the failure as a warning.
 */
export function safely<Args extends readonly unknown[]>(
  name: string,
  callback: Callback<Args> | undefined,
): (...args: Args) => void {
  return (...args) => {
    try {
      Promise.resolve(callback?.(...args)).catch((error: unknown) => {
        warn(name, error);
      });
    } catch (error) {
      warn(name, error);
    }
  };
}

function warn(name: string, error: unknown): void {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.emitWarning(`the callback ${name} failed: ${detail}`, 'GaplessCallbackWarning');
}
