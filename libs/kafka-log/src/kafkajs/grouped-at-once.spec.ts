import { createRequire } from 'node:module';
import { expect, it } from '@jest/globals';
import type { Message } from 'kafkajs';
import { groupedAtOnce } from './grouped-at-once.js';

const groupMessagesPerPartition = createRequire(import.meta.url)(
  'kafkajs/src/producer/groupMessagesPerPartition.js',
) as (asked: {
  readonly topic: string;
  readonly partitionMetadata: readonly object[];
  readonly messages: readonly Message[];
  readonly partitioner: (place: { readonly message: Message }) => number;
}) => Record<string, Message[]>;

function group(messages: readonly Message[]) {
  let asked = 0;
  const grouped = groupMessagesPerPartition({
    topic: 'topic',
    partitionMetadata: [{}],
    messages,
    partitioner: ({ message }) => {
      asked++;
      return message.partition ?? 0;
    },
  });
  return { grouped, asked };
}

const messages = (): Message[] =>
  [3, 0, 3, 1, 0, 3].map((partition, index) => ({ partition, value: Buffer.from(String(index)) }));

it('kafkajs gets the groups that it would make itself, in their order', () => {
  expect(group(groupedAtOnce(messages()))).toEqual(group(messages()));
  expect(Object.keys(group(groupedAtOnce(messages())).grouped)).toEqual(['0', '1', '3']);
  expect(group(groupedAtOnce([])).grouped).toEqual({});
});
