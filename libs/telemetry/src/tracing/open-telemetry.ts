import { setTimeout as delay } from 'node:timers/promises';
import { SpanKind, SpanStatusCode, TraceFlags, type HrTime, type SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes, type Resource } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { VERSION } from '#libs/domain';
import { isSampled, parseTraceParent, type TraceParent } from './trace-parent.js';
import type { FinishedSpan, Tracing, TracingOptions } from './tracing.js';

/** The path at which collectors accept spans, by OTLP over HTTP. */
const TRACES_PATH = '/v1/traces';
const EXPORT_TIMEOUT_MS = 5_000;
/** How long an ending process waits for its collector, milliseconds. */
const CLOSE_PATIENCE_MS = 2_000;

const KINDS = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT };

/**
 * Sends spans by OpenTelemetry's SDK. A span is made when its work is over, with an id from when it began. So events
 * can pass through Kafka without a context in the process.
 */
export class OpenTelemetry implements Tracing {
  readonly isOn = true;
  readonly #processor: SpanProcessor;
  readonly #resource: Resource;

  constructor(exporter: SpanExporter, serviceName: string) {
    this.#processor = new BatchSpanProcessor(exporter);
    this.#resource = resourceFromAttributes({ 'service.name': serviceName, 'service.version': VERSION });
  }

  /** The exporter itself reads the other variables, such as `OTEL_EXPORTER_OTLP_HEADERS`. */
  static sendingTo(endpoint: string, { serviceName, onFailure }: Omit<TracingOptions, 'endpoint'>): OpenTelemetry {
    const url = `${endpoint.replace(/\/+$/, '')}${TRACES_PATH}`;
    const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT_MS });
    return new OpenTelemetry(reporting(exporter, onFailure), serviceName);
  }

  record(span: FinishedSpan): void {
    const self = parseTraceParent(span.traceparent);
    if (self === undefined || !isSampled(self)) return;
    this.#processor.onEnd(this.#readable(span, self));
  }

  async close(): Promise<void> {
    await Promise.race([
      this.#processor.shutdown().catch(() => undefined),
      delay(CLOSE_PATIENCE_MS, undefined, { ref: false }),
    ]);
  }

  #readable(span: FinishedSpan, self: TraceParent): ReadableSpan {
    const parent = parseTraceParent(span.parent);
    const durationMs = Math.max(0, span.endedAtMs - span.startedAtMs);
    return {
      name: span.name,
      kind: KINDS[span.kind],
      spanContext: () => contextOf(self),
      // All parents here are spans of other processes.
      ...(parent === undefined ? {} : { parentSpanContext: { ...contextOf(parent), isRemote: true } }),
      startTime: hrTime(span.startedAtMs),
      endTime: hrTime(span.startedAtMs + durationMs),
      duration: hrTime(durationMs),
      ended: true,
      status:
        span.error === null ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: span.error },
      attributes: { ...span.attributes, ...(span.error === null ? {} : { 'error.type': span.error }) },
      links: [],
      events: [],
      resource: this.#resource,
      instrumentationScope: { name: 'gapless', version: VERSION },
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    };
  }
}

/** Reports the exporter's failures, which the SDK would hide. */
function reporting(exporter: SpanExporter, onFailure: TracingOptions['onFailure']): SpanExporter {
  return {
    export: (spans, done) => {
      exporter.export(spans, (result) => {
        if (result.error !== undefined) onFailure(result.error.message);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

function contextOf({ traceId, spanId }: TraceParent): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
}

/** Converts milliseconds to seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  const seconds = Math.trunc(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1_000_000)];
}
