export * from './brand.js';
export * from './clock.js';
export * from './errors.js';
export * from './fingerprints.js';
export * from './ids.js';
export * from './json-slices.js';
export * from './seq.js';
export * from './version.js';
