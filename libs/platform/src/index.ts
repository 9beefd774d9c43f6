export * from './gapless-app.js';
export { giveBackMemory } from './give-back-memory.js';
export * from './platform.module.js';
export * from './projection-place.js';
export * from './regular-work.js';
export { StageKit } from './stage-kit.js';
export * from './tokens.js';
