import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type RetryOptions } from 'kafkajs';

function isRetriable(error: unknown): boolean {
  return error instanceof kafkajs.KafkaJSError && error.retriable;
}

/** Repeats as kafkajs does: with back-off, up to a number of times, and never what cannot become better. */
export async function retried<T>(options: RetryOptions, act: () => Promise<T>): Promise<T> {
  const { retries = 5, initialRetryTime = 300, maxRetryTime = 30_000 } = options;
  let waitMs = initialRetryTime;
  for (let count = 0; ; count++) {
    try {
      return await act();
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error));
      if (cause instanceof kafkajs.KafkaJSError && !isRetriable(cause)) {
        throw new kafkajs.KafkaJSNonRetriableError(cause);
      }
      if (count >= retries) {
        throw new kafkajs.KafkaJSNumberOfRetriesExceeded(cause, { retryCount: count, retryTime: waitMs });
      }
      await delay(waitMs);
      waitMs = Math.min(waitMs * 2, maxRetryTime);
    }
  }
}

/** The same for what can call `bail` with an error that ends it at once. */
export async function retriedUnlessBailed(
  options: RetryOptions,
  act: (bail: (error: unknown) => void) => Promise<void>,
): Promise<void> {
  let bailed: { readonly error: unknown } | undefined;
  await retried(options, async () => {
    try {
      await act((error) => {
        bailed = { error };
      });
    } catch (error) {
      if (bailed === undefined) throw error;
    }
  });
  if (bailed !== undefined) throw bailed.error;
}
