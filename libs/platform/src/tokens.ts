/** What Nest injects where there is no class to name it by. */
export const CONFIG = Symbol('Config');
export const CLOCK = Symbol('Clock');
export const LOGGER = Symbol('Logger');
export const TRACING = Symbol('Tracing');
export const TOPICS = Symbol('TopicNames');
