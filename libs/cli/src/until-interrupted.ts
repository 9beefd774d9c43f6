import type { CliContext } from './context.js';

/** Runs a command that only the user ends. A request that is broken off by that is no error. */
export async function untilInterrupted(
  { interruption }: Pick<CliContext, 'interruption'>,
  act: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const signal = interruption();
  try {
    await act(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
