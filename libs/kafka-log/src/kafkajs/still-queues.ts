import { systemClock } from '#libs/domain';
import { methodsOfKafkajs, wrap } from './patching/patch.js';

/** kafkajs' queue of requests on a connection. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  /** Until when the broker asks for no requests, epoch milliseconds. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null | undefined;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

/** How often kafkajs checks whether it may send a request, milliseconds. */
const LOOK_EVERY_MS = 10;

/**
 * Stops idle polling of request queues. kafkajs polls each connection that was ever used 1,000 times a second. With
 * this, it polls only while a request waits. It changes kafkajs for the whole thread.
 */
export function stillQueues(): void {
  wrap(methodsOfKafkajs('network/requestQueue/index.js') as RequestQueue, 'scheduleCheckPendingRequests', () => {
    return function (this: RequestQueue) {
      if (this.pending.length === 0 || this.throttleCheckTimeoutId) return;
      this.throttleCheckTimeoutId = setTimeout(
        () => {
          this.throttleCheckTimeoutId = null;
          this.checkPendingRequests();
        },
        Math.max(LOOK_EVERY_MS, this.throttledUntil - systemClock.now()),
      );
    };
  });
}
