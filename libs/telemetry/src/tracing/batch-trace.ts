import { childTraceParent } from './trace-parent.js';
import type { FinishedSpan, Tracing } from './tracing.js';

/** The members of an event that its span holds, and those that give repeated work the same span. */
export interface TracedEvent {
  readonly orgId: string;
  readonly id: string;
  readonly event: string;
}

/** The spans of a stage that works on batches: one for each event, with the times of the batch. */
export class BatchTrace {
  readonly #spans: Pick<FinishedSpan, 'traceparent' | 'parent' | 'attributes'>[] = [];

  /** @param startedAtMs epoch milliseconds */
  constructor(
    private readonly tracing: Tracing,
    private readonly name: string,
    private readonly startedAtMs: number,
  ) {}

  /** Returns the `traceparent` to pass on; the parent itself if there are no spans. */
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

  /** Call it once all work is done. Failed work is repeated, and reported then. */
  end(endedAtMs: number): void {
    const { name, startedAtMs } = this;
    for (const span of this.#spans) {
      this.tracing.record({ ...span, name, kind: 'consumer', startedAtMs, endedAtMs, error: null });
    }
  }
}
