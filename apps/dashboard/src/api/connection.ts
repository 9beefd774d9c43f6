import { useSyncExternalStore } from 'react';
import { browserClock } from '../time/clock.js';

/** Whether the pages can show the present. */
export interface Connection {
  /** Whether the last requests were answered. */
  readonly isUp: boolean;
  /** Whether the stream of changes is open. Without it, pages ask more often. */
  readonly isStreaming: boolean;
  /** When the service answered last before the connection was lost, milliseconds since the epoch. */
  readonly answeredMs: number;
  /** The newest seq that the stream has reported. */
  readonly head: number;
}

/** One query that fails beside others that work is not a lost connection: its place on the page shows the failure. */
const PATIENCE_MS = 1_500;

let connection: Connection = { isUp: true, isStreaming: false, answeredMs: browserClock.now(), head: 0 };
let lastAnswerMs = connection.answeredMs;
let givingUp: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function change(changes: Partial<Connection>): void {
  connection = { ...connection, ...changes };
  for (const listener of listeners) listener();
}

export function reportAnswer(): void {
  clearTimeout(givingUp);
  givingUp = undefined;
  lastAnswerMs = browserClock.now();
  if (!connection.isUp) change({ isUp: true });
}

export function reportNoAnswer(): void {
  if (!connection.isUp) return;
  givingUp ??= setTimeout(() => {
    givingUp = undefined;
    change({ isUp: false, answeredMs: lastAnswerMs });
  }, PATIENCE_MS);
}

export function reportStream(isStreaming: boolean): void {
  if (isStreaming !== connection.isStreaming) change({ isStreaming });
}

export function reportHead(head: number): void {
  if (head > connection.head) change({ head });
}

export function isStreaming(): boolean {
  return connection.isStreaming;
}

/** Forgets what belongs to a session. */
export function resetConnection(): void {
  change({ isStreaming: false, head: 0 });
}

/** Returns one part of the connection, and draws the component again when that part changes. */
export function useConnection<T extends string | number | boolean>(select: (connection: Connection) => T): T {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => select(connection),
  );
}
