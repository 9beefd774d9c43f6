export * from './api-client.js';
export * from './api-error.js';
export { apiUrlOf } from './api-url.js';
export * from './back-off.js';
export * from './printable.js';
export * from './safely.js';
export * from './submit-events.js';
