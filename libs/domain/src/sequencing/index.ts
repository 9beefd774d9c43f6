export { FingerprintTable } from './fingerprint-table.js';
export { FINGERPRINT_BYTES, idFingerprint, type IdFingerprint } from './id-fingerprint.js';
export { ID_WINDOW_MS, type IdStretch } from './id-window.js';
export * from './log-audit.js';
export * from './org-sequences.js';
export * from './partition-fold.js';
export * from './seq-gate.js';
