export * from './batch-trace.js';
export * from './trace-parent.js';
export * from './tracing.js';
