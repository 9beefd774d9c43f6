export * from './log-audit.js';
export * from './org-sequences.js';
export * from './recent-ids.js';
export * from './seq-gate.js';
