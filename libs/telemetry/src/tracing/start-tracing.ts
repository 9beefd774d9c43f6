import { NO_TRACING, type Tracing, type TracingOptions } from './tracing.js';

/** Starts tracing. It loads OpenTelemetry only if there is a collector. */
export async function startTracing({ endpoint, ...options }: TracingOptions): Promise<Tracing> {
  if (endpoint === null) return NO_TRACING;
  const { OpenTelemetry } = await import('./open-telemetry.js');
  return OpenTelemetry.sendingTo(endpoint, options);
}
