export * from './metrics/catalog.js';
export type { MetricDefinition } from './metrics/metric-definition.js';
export * from './metrics/metrics.js';
export * from './metrics/sequence-check.js';
export * from './tracing/batch-trace.js';
export * from './tracing/start-tracing.js';
export * from './tracing/trace-parent.js';
export * from './tracing/tracing.js';
