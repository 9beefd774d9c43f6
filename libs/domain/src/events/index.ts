export * from './catalog.js';
export type { CatalogEntry, EventFamily, EventScope } from './catalog-entry.js';
export type { JsonObject } from './data-schemas/json-schema.js';
export * from './envelope-schema.js';
export * from './envelope.js';
export * from './inbox-record.js';
export * from './example-event.js';
export * from './log-event.js';
export * from './operational-event.js';
