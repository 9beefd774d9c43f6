/** Aborted by the first Ctrl-C, or SIGTERM; the next one ends the process as if nobody listened. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      controller.abort();
    });
  }
  return controller.signal;
}
