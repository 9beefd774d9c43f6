import { durationText, parseDuration } from '#libs/runtime';

/**
 * Returns the topic of the retries with this delay: `gapless.retry-10s.v1`. The name holds the delay, not the place in
 * the schedule. So all records of a topic wait equally long, even when the schedule changes, and its first record is
 * always due first.
 */
export function retryTopic(prefix: string, delayMs: number): string {
  return `${prefix}.retry-${durationText(delayMs)}.v1`;
}

/** Returns the retry topics of earlier schedules on the broker. They are read until they are empty. */
export function formerRetryTopics(
  names: { readonly attempts: string; readonly retry: readonly string[] },
  onBroker: readonly string[],
): readonly string[] {
  const prefix = names.attempts.slice(0, -'attempts.v1'.length);
  const isRetryTopic = (topic: string) =>
    topic.startsWith(`${prefix}retry-`) && /^[^.]+\.v1$/.test(topic.slice(prefix.length));
  return onBroker.filter((topic) => isRetryTopic(topic) && !names.retry.includes(topic)).toSorted();
}

/** Returns the delay of a retry topic, milliseconds; `undefined` for a topic named by its place in a schedule. */
export function retryTopicDelayMs(topic: string): number | undefined {
  const [, delay] = /\.retry-([^.]+)\.v1$/.exec(topic) ?? [];
  return delay === undefined ? undefined : parseDuration(delay);
}
