export * from './api-client.js';
export * from './api-error.js';
export * from './back-off.js';
export * from './safely.js';
