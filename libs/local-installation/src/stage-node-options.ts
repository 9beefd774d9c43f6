/**
 * What Node is given where stages run (ADR 25). The young generation stays small, since most of what it holds is
 * short-lived and each thread has one of its own; the old one is collected once it has grown by so many percent, instead
 * of threefold, and is marked by the thread it belongs to, in small steps.
 */
export const STAGE_NODE_OPTIONS: readonly string[] = [
  '--max-semi-space-size=8',
  '--heap-growing-percent=45',
  '--no-concurrent-marking',
];
