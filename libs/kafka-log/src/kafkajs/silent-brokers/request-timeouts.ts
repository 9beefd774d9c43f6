import { systemClock } from '#libs/domain';
import { methodsOfKafkajs, wrap } from '../patching/patch.js';

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
  const methods = methodsOfKafkajs('network/requestQueue/index.js') as RequestQueue;
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
  wrap(methods, 'scheduleRequestTimeoutCheck', () => {
    return function (this: RequestQueue) {
      if (!this.enforceRequestTimeout) return;
      this.destroy();
      queues.add(this);
      looking ??= setInterval(look, LOOK_EVERY_MS);
    };
  });
  wrap(methods, 'destroy', (destroy) => {
    return function (this: RequestQueue) {
      destroy.call(this);
      if (!queues.delete(this) || queues.size > 0 || looking === null) return;
      clearInterval(looking);
      looking = null;
    };
  });
}
