export * from './catalog.js';
export type { MetricDefinition } from './metric-definition.js';
export * from './metrics.js';
export * from './sequence-check.js';
