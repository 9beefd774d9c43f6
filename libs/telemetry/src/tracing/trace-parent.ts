import { hash } from 'node:crypto';

/** A traceparent by W3C Trace Context, version 00: the trace, the span, and whether the trace is sampled. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: string;
}

const TRACE_PARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

export const SAMPLED = '01';
const NOT_SAMPLED = '00';

/** Returns `undefined` if the text is not a traceparent. */
export function parseTraceParent(text: string | null | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags] = TRACE_PARENT.exec(text ?? '') ?? [];
  return traceId === undefined || spanId === undefined || flags === undefined ? undefined : { traceId, spanId, flags };
}

/** Returns the text if it is a traceparent, otherwise `null`, so that invalid input is not passed on. */
export function validTraceParent(text: string | undefined): string | null {
  return text !== undefined && parseTraceParent(text) !== undefined ? text : null;
}

export function isSampled({ flags }: TraceParent): boolean {
  return (Number.parseInt(flags, 16) & 1) === 1;
}

function digest(text: string, length: number): string {
  return hash('sha256', text, 'hex').slice(0, length);
}

/** The values from which a child's ids are computed. Repeated work has the same values, so it gets the same span. */
export interface ChildSeeds {
  /** Identifies the trace, if there is no parent. */
  readonly trace: string;
  /** Identifies the span. */
  readonly span: string;
  /** Whether a new trace is sampled. */
  readonly beginsSampled: boolean;
}

/** Returns the traceparent of a child of `parent`. Without a parent, it begins a trace. */
export function childTraceParent(parent: string | null, seeds: ChildSeeds): string {
  const known = parseTraceParent(parent);
  const traceId = known?.traceId ?? digest(seeds.trace, 32);
  const flags = known?.flags ?? (seeds.beginsSampled ? SAMPLED : NOT_SAMPLED);
  return `00-${traceId}-${digest(seeds.span, 16)}-${flags}`;
}
