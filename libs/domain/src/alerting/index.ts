export * from './alert.js';
export * from './chat-queue.js';
export * from './conversation-event.js';
export * from './conversation-snapshot.js';
export * from './decide-alerts.js';
export * from './live-chat-settings.js';
export * from './mail-domains.js';
export * from './mail-retries.js';
