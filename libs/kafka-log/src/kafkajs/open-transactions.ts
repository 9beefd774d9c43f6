import { performance } from 'node:perf_hooks';

interface OpenTransaction {
  /** The offset at which the transaction begins. Readers get no record from here on. */
  readonly offset: number;
  readonly sinceMs: number;
  /** When a fetch last found it open. */
  seenMs: number;
}

/**
 * Milliseconds. A partition that another member has, or that is held, is not fetched, and its transaction may have ended
 * meanwhile.
 */
const KNOWN_FOR_MS = 5_000;

const open = new Map<string, OpenTransaction>();

/** Notes the offsets that a fetch reports for a partition. All consumers of this thread share them. */
export function noteStableOffset(topic: string, partition: number, lastStable: number, end: number): void {
  const place = `${topic}/${partition}`;
  if (lastStable < 0 || lastStable >= end) {
    if (open.size > 0) open.delete(place);
    return;
  }
  const now = performance.now();
  const known = open.get(place);
  if (known?.offset === lastStable) known.seenMs = now;
  else open.set(place, { offset: lastStable, sinceMs: now, seenMs: now });
}

/**
 * Returns how long the oldest transaction of a partition has been open, and where it begins; `undefined` if none is
 * open, or if the partition was not fetched for a while.
 */
export function openTransaction(
  topic: string,
  partition: number,
): { readonly offset: number; readonly forMs: number } | undefined {
  const found = open.get(`${topic}/${partition}`);
  const now = performance.now();
  if (found === undefined || now - found.seenMs > KNOWN_FOR_MS) return undefined;
  return { offset: found.offset, forMs: now - found.sinceMs };
}
