import { randomFillSync } from 'node:crypto';

/** W3C Trace Context, section 3.2: version, trace id, parent id, flags; later versions may append more. */
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?=$|-)/;

const IDS_BYTES = 24;
/** Random bytes are drawn for many traces at a time, because each draw is expensive. */
const drawn = Buffer.alloc(IDS_BYTES * 256);
let used = drawn.length;

function randomIds(): string {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  used += IDS_BYTES;
  return drawn.toString('hex', used - IDS_BYTES, used);
}

/** Returns the caller's `traceparent`, if it is valid. */
export function callersTraceParent(header: string | string[] | undefined): string | undefined {
  const callers = typeof header === 'string' ? TRACE_PARENT.exec(header)?.[0] : undefined;
  // Of versions later than 00, only the known part is passed on, as version 00.
  return callers?.replace(/^../, '00');
}

/** Returns the trace of the request: the caller's if it names a valid one, otherwise a new one. */
export function traceParentOf(header: string | string[] | undefined): string {
  const callers = callersTraceParent(header);
  if (callers !== undefined) return callers;
  const ids = randomIds();
  return `00-${ids.slice(0, 32)}-${ids.slice(32)}-01`;
}
