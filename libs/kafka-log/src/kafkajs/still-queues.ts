import { createRequire } from 'node:module';
import { systemClock } from '#libs/domain';

/** kafkajs' requests of a connection. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  /** Epoch milliseconds until which the broker wants nothing. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null | undefined;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

/** As often as kafkajs looks whether one may be sent. */
const LOOK_EVERY_MS = 10;

/**
 * kafkajs looks for requests that wait 1,000 times a second, on each connection that was ever used, whether or not one waits.
 * Now it looks while one waits. It changes kafkajs for the whole thread.
 */
export function stillQueues(): void {
  const require = createRequire(import.meta.url);
  const { prototype } = require('kafkajs/src/network/requestQueue/index.js') as { readonly prototype: RequestQueue };
  prototype.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length === 0 || this.throttleCheckTimeoutId) return;
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      Math.max(LOOK_EVERY_MS, this.throttledUntil - systemClock.now()),
    );
  };
}
