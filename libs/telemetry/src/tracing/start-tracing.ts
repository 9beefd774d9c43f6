import { NO_TRACING, type Tracing, type TracingOptions } from './tracing.js';

/** Spans are sent by OpenTelemetry, which is loaded only when there is where to send them to. */
export async function startTracing({ endpoint, ...options }: TracingOptions): Promise<Tracing> {
  if (endpoint === null) return NO_TRACING;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  return OpenTelemetry.sendingTo(endpoint, options);
}
