export { emitInTransaction } from './emit-in-transaction.js';
export * from './outbox-relay.js';
export * from './outbox-table.js';
