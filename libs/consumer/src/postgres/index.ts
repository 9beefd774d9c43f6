export * from './consumer-tables.js';
export * from './postgres-cursor.js';
export * from './postgres-dedup.js';
