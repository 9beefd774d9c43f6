import { durationText, parseDuration } from '#libs/runtime';

/**
 * Returns the topic of the retries that wait for so long: `gapless.retry-10s.v1`. The name says the delay, not the place in
 * the schedule, so that all records of a topic wait equally long even when the schedule changes: its first record is always
 * the one that is due first.
 */
export function retryTopic(prefix: string, delayMs: number): string {
  return `${prefix}.retry-${durationText(delayMs)}.v1`;
}

/** Returns the retry topics of earlier schedules among those that the broker has: they are read until they are empty. */
export function formerRetryTopics(
  names: { readonly attempts: string; readonly retry: readonly string[] },
  onBroker: readonly string[],
): readonly string[] {
  const prefix = names.attempts.slice(0, -'attempts.v1'.length);
  const isRetryTopic = (topic: string) =>
    topic.startsWith(`${prefix}retry-`) && /^[^.]+\.v1$/.test(topic.slice(prefix.length));
  return onBroker.filter((topic) => isRetryTopic(topic) && !names.retry.includes(topic)).toSorted();
}

/** Returns how long the records of a retry topic wait; `undefined` for a topic that is named by its place in a schedule. */
export function retryTopicDelayMs(topic: string): number | undefined {
  const [, delay] = /\.retry-([^.]+)\.v1$/.exec(topic) ?? [];
  return delay === undefined ? undefined : parseDuration(delay);
}
