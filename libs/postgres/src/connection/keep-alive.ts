/**
 * Settings of every connection. Firewalls drop connections that are quiet for minutes, as while an index is made, and
 * say so to neither side. Without a delay, the system begins to ask the other side after two hours.
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 30_000 };
