/** A span of completed work. */
export interface FinishedSpan {
  /** One of a few fixed names. */
  readonly name: string;
  readonly kind: 'server' | 'consumer' | 'client';
  /** The span's own traceparent, which its children have as parent. */
  readonly traceparent: string;
  /** The parent's traceparent; `null` where the trace begins. */
  readonly parent: string | null;
  /** Epoch milliseconds. */
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The class of the error, without its text; `null` if the work succeeded. */
  readonly error: string | null;
}

/** Sends spans. */
export interface Tracing {
  /** Whether spans are collected. If not, make none. */
  readonly isOn: boolean;
  /** Takes a span, unless its trace is not sampled. Never throws or waits. */
  record(span: FinishedSpan): void;
  /** Sends waiting spans, within a short time limit. */
  close(): Promise<void>;
}

export const NO_TRACING: Tracing = {
  isOn: false,
  record: () => undefined,
  close: () => Promise.resolve(),
};

export interface TracingOptions {
  /** The URL of the collector, without a path; `null` turns spans off. */
  readonly endpoint: string | null;
  /** The name of the process that sends the spans. */
  readonly serviceName: string;
  /** Called when spans cannot be sent. */
  readonly onFailure: (message: string) => void;
}
