import { performance } from 'node:perf_hooks';

interface OpenTransaction {
  /** Readers get nothing from this offset on. */
  readonly offset: number;
  readonly sinceMs: number;
}

const open = new Map<string, OpenTransaction>();

/** Notes what a fetch says of a partition. Consumers of this thread share it. */
export function noteStableOffset(topic: string, partition: number, lastStable: number, end: number): void {
  const place = `${topic}/${partition}`;
  if (lastStable < 0 || lastStable >= end) {
    if (open.size > 0) open.delete(place);
  } else if (open.get(place)?.offset !== lastStable) {
    open.set(place, { offset: lastStable, sinceMs: performance.now() });
  }
}

/** For how long the oldest transaction of a partition has been open, and where it begins; `undefined` if none is open. */
export function openTransaction(
  topic: string,
  partition: number,
): { readonly offset: number; readonly forMs: number } | undefined {
  const found = open.get(`${topic}/${partition}`);
  return found === undefined ? undefined : { offset: found.offset, forMs: performance.now() - found.sinceMs };
}
