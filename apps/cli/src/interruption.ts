/** Returns a signal that the first Ctrl-C or SIGTERM aborts. The next one ends the process at once. */
export function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      controller.abort();
    });
  }
  return controller.signal;
}
