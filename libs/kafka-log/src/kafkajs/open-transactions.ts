import { performance } from 'node:perf_hooks';

interface OpenTransaction {
  /** The offset at which the transaction begins. Readers get no record from here on. */
  readonly offset: number;
  readonly sinceMs: number;
}

const open = new Map<string, OpenTransaction>();

/** Notes the offsets that a fetch reports for a partition. All consumers of this thread share them. */
export function noteStableOffset(topic: string, partition: number, lastStable: number, end: number): void {
  const place = `${topic}/${partition}`;
  if (lastStable < 0 || lastStable >= end) {
    if (open.size > 0) open.delete(place);
  } else if (open.get(place)?.offset !== lastStable) {
    open.set(place, { offset: lastStable, sinceMs: performance.now() });
  }
}

/**
 * Returns how long the oldest transaction of a partition has been open, and where it begins; `undefined` if none is
 * open.
 */
export function openTransaction(
  topic: string,
  partition: number,
): { readonly offset: number; readonly forMs: number } | undefined {
  const found = open.get(`${topic}/${partition}`);
  return found === undefined ? undefined : { offset: found.offset, forMs: performance.now() - found.sinceMs };
}
