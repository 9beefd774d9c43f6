/** A piece of work that is over. */
export interface FinishedSpan {
  /** One of a few. */
  readonly name: string;
  readonly kind: 'server' | 'consumer' | 'client';
  /** Its own traceparent: what follows from it was given this as parent. */
  readonly traceparent: string;
  /** The traceparent of what it follows from, `null` where the trace begins. */
  readonly parent: string | null;
  /** Epoch milliseconds. */
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Why it failed, a class of errors and not their text; `null` if it did not. */
  readonly error: string | null;
}

/** Where spans go. */
export interface Tracing {
  /** Whether anybody wants spans: if not, none is to be made. */
  readonly isOn: boolean;
  /** Hands over a span, unless its trace is not sampled. Never throws, never waits. */
  record(span: FinishedSpan): void;
  /** Sends what waits, for a short time. */
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
