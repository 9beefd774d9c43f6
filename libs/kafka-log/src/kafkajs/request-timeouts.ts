import { createRequire } from 'node:module';
import { systemClock } from '#libs/domain';

/** kafkajs' queue of requests on a connection. */
interface RequestQueue {
  readonly enforceRequestTimeout: boolean;
  readonly inflight: ReadonlyMap<number, Request>;
  isConnected(): boolean;
  /** Called once the connection is open. */
  scheduleRequestTimeoutCheck(): void;
  /** Called when the connection is closed. */
  destroy(): void;
}

interface Request {
  /** Epoch milliseconds. */
  readonly sentAt: number;
  /** Milliseconds. */
  readonly requestTimeout: number;
  timeoutRequest(): void;
}

/** How often to look for requests without an answer, milliseconds. */
const LOOK_EVERY_MS = 250;

/**
 * Looks for requests without an answer on all connections at once. kafkajs has a timer for each connection, which wakes
 * the thread 10 times a second. It changes kafkajs for the whole thread.
 */
export function timeOutTogether(): void {
  const require = createRequire(import.meta.url);
  const { prototype } = require('kafkajs/src/network/requestQueue/index.js') as { readonly prototype: RequestQueue };
  const destroy = Object.getOwnPropertyDescriptor(prototype, 'destroy')?.value as RequestQueue['destroy'];
  const queues = new Set<RequestQueue>();
  let looking: NodeJS.Timeout | null = null;
  const look = () => {
    for (const queue of queues) {
      for (const request of queue.inflight.values()) {
        if (systemClock.now() - request.sentAt > request.requestTimeout) request.timeoutRequest();
      }
      if (!queue.isConnected()) queue.destroy();
    }
  };
  prototype.scheduleRequestTimeoutCheck = function (this: RequestQueue) {
    if (!this.enforceRequestTimeout) return;
    this.destroy();
    queues.add(this);
    looking ??= setInterval(look, LOOK_EVERY_MS);
  };
  prototype.destroy = function (this: RequestQueue) {
    destroy.call(this);
    if (!queues.delete(this) || queues.size > 0 || looking === null) return;
    clearInterval(looking);
    looking = null;
  };
}
