/**
 * Node's options for processes that run stages (ADR 25). The young generation stays small: its objects are short-lived,
 * and each thread has its own. The old generation is collected after growing by this percentage, instead of threefold.
 * Its own thread marks it, in small steps. Compiled code stays, also if it has not run for a while.
 */
export const STAGE_NODE_OPTIONS: readonly string[] = [
  '--max-semi-space-size=8',
  '--heap-growing-percent=45',
  '--no-concurrent-marking',
  '--no-flush-bytecode',
];
