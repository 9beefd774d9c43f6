export * from './confirmation.js';
export * from './event-arguments.js';
export * from './event-cursor.js';
export * from './event-descriptor.js';
export * from './explain-delivery.js';
export * from './mcp-error.js';
export * from './subscription-start.js';
