export * from './kernel/index.js';
export * from './events/index.js';
export * from './sequencing/index.js';
export * from './delivery/index.js';
export * from './alerting/index.js';
export * from './mcp/index.js';
