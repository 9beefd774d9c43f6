import { childTraceParent } from './trace-parent.js';
import type { FinishedSpan, Tracing } from './tracing.js';

/** The members of an event in a span, and those that make it the same when the work is repeated. */
export interface TracedEvent {
  readonly orgId: string;
  readonly id: string;
  readonly event: string;
}

/** The spans of a stage that works on a batch of events: one for each event, all of the batch's time. */
export class BatchTrace {
  readonly #spans: Pick<FinishedSpan, 'traceparent' | 'parent' | 'attributes'>[] = [];

  /** @param startedAtMs epoch milliseconds */
  constructor(
    private readonly tracing: Tracing,
    private readonly name: string,
    private readonly startedAtMs: number,
  ) {}

  /** The `traceparent` to pass on instead of the parent; the parent itself without spans. */
  follow(parent: string | null, { orgId, id, event }: TracedEvent): string | null {
    if (!this.tracing.isOn) return parent;
    const traceparent = childTraceParent(parent, {
      trace: `${orgId}/${id}`,
      span: `${this.name}/${orgId}/${id}`,
      beginsSampled: true,
    });
    const attributes = { 'gapless.org.id': orgId, 'gapless.event.id': id, 'gapless.event.type': event };
    this.#spans.push({ traceparent, parent, attributes });
    return traceparent;
  }

  /** Called once all of the work is done. Failed work is repeated, and reported then. */
  end(endedAtMs: number): void {
    const { name, startedAtMs } = this;
    for (const span of this.#spans) {
      this.tracing.record({ ...span, name, kind: 'consumer', startedAtMs, endedAtMs, error: null });
    }
  }
}
