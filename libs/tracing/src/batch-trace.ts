import { childTraceParent } from './trace-parent.js';
import type { FinishedSpan, Tracing } from './tracing.js';

/** What of an event is told in a span, and by what it is the same when the work is done again. */
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

  /** What is to be handed on instead of the parent; the parent itself if nobody wants spans. */
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

  /** Once all of the work is done; work that failed is done again, and told then. */
  end(endedAtMs: number): void {
    const { name, startedAtMs } = this;
    for (const span of this.#spans) {
      this.tracing.record({ ...span, name, kind: 'consumer', startedAtMs, endedAtMs, error: null });
    }
  }
}
