export * from './batch-trace.js';
export * from './start-tracing.js';
export * from './trace-parent.js';
export * from './tracing.js';
