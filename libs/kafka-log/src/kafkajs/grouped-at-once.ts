import type { Message } from 'kafkajs';

/** The messages of each partition. */
type Grouped = Record<string, Message[]>;

/**
 * Lets kafkajs group these messages by partition in one pass. It groups them by `reduce`, and copies a partition's
 * messages for each one that it adds: for 2,000 records, two million references.
 * @param messages changed in place
 */
export function groupedAtOnce(messages: Message[]): Message[] {
  const reduce = (add: (grouped: Grouped, message: Message) => Grouped): Grouped => {
    const grouped: Grouped = {};
    for (const message of messages) {
      for (const partition of Object.keys(add({}, message))) (grouped[partition] ??= []).push(message);
    }
    return grouped;
  };
  return Object.defineProperty(messages, 'reduce', { value: reduce });
}
