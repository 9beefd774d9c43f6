export * from './api-key-records.js';
export * from './delivery-projection.js';
export * from './endpoint-directory.js';
export * from './endpoint-records.js';
export * from './feed-projection.js';
export * from './feed-reader.js';
export type { Projected, Stretch } from './projection-offsets.js';
export * from './secret-cipher.js';
export * from './store.js';
