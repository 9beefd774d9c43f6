/** Tokens for values that Nest injects without a class. */
export const CONFIG = Symbol('Config');
export const CLOCK = Symbol('Clock');
export const LOGGER = Symbol('Logger');
export const TRACING = Symbol('Tracing');
export const EVENT_FILTERS = Symbol('EventFilters');
export const TOPICS = Symbol('TopicNames');
