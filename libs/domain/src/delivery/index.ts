export * from './attempt.js';
export * from './decide-after-attempt.js';
export * from './delivery-fact.js';
export * from './delivery-state.js';
export * from './endpoint-health.js';
export * from './retry-schedule.js';
export * from './subscription.js';
export * from './widget-scope.js';
