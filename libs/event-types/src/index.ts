export * from './event-data.js';
export * from './gapless-event.js';
