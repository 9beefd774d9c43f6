import { hash } from 'node:crypto';

/** W3C Trace Context, version 00: where in which trace something stands, and whether it is sampled. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  readonly flags: string;
}

const TRACE_PARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

export const SAMPLED = '01';
const NOT_SAMPLED = '00';

/** `undefined` for what is not a traceparent. */
export function parseTraceParent(text: string | null | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags] = TRACE_PARENT.exec(text ?? '') ?? [];
  return traceId === undefined || spanId === undefined || flags === undefined ? undefined : { traceId, spanId, flags };
}

/** The text if it is a traceparent, otherwise `null`: what strangers send is not handed on as it is. */
export function validTraceParent(text: string | undefined): string | null {
  return text !== undefined && parseTraceParent(text) !== undefined ? text : null;
}

export function isSampled({ flags }: TraceParent): boolean {
  return (Number.parseInt(flags, 16) & 1) === 1;
}

function digest(text: string, length: number): string {
  return hash('sha256', text, 'hex').slice(0, length);
}

/**
 * The values from which a child's ids are computed. Repeated work has the same values, so it is the same span again.
 */
export interface ChildSeeds {
  /** Names the trace if there is none to go on with. */
  readonly trace: string;
  /** Names the span. */
  readonly span: string;
  /** Whether a trace that begins here is sampled. */
  readonly beginsSampled: boolean;
}

/** The traceparent of what follows from `parent`, or begins a trace when there is none. */
export function childTraceParent(parent: string | null, seeds: ChildSeeds): string {
  const known = parseTraceParent(parent);
  const traceId = known?.traceId ?? digest(seeds.trace, 32);
  const flags = known?.flags ?? (seeds.beginsSampled ? SAMPLED : NOT_SAMPLED);
  return `00-${traceId}-${digest(seeds.span, 16)}-${flags}`;
}
