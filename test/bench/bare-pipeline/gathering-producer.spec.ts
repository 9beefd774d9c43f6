import { expect, it } from '@jest/globals';
import type { Message, Producer, ProducerRecord } from 'kafkajs';
import { GatheringProducer } from './gathering-producer.js';

/** What was sent, and the answers that the requests wait for. */
function fakeProducer() {
  const sent: string[][] = [];
  const answers: { readonly acknowledge: () => void; readonly refuse: (error: Error) => void }[] = [];
  const send = ({ messages }: ProducerRecord) => {
    sent.push(messages.map(({ value }) => String(value)));
    return new Promise((resolve, refuse) => {
      answers.push({
        acknowledge: () => {
          resolve([]);
        },
        refuse,
      });
    });
  };
  return { producer: { send } as unknown as Producer, sent, answers };
}

const message = (value: string): Message => ({ value });

async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

it('sends what comes while a request is on its way with the next one, in order', async () => {
  const { producer, sent, answers } = fakeProducer();
  const gathering = new GatheringProducer(producer, 'topic');
  const first = [gathering.append(message('1')), gathering.append(message('2'))];
  await turn();
  const second = [gathering.append(message('3')), gathering.append(message('4'))];
  await turn();
  expect(sent).toEqual([['1', '2']]);

  answers[0]?.acknowledge();
  await Promise.all(first);
  await turn();
  expect(sent).toEqual([
    ['1', '2'],
    ['3', '4'],
  ]);
  answers[1]?.acknowledge();
  await Promise.all(second);
});

it('lets those go on together that were acknowledged together', async () => {
  const { producer, sent, answers } = fakeProducer();
  const gathering = new GatheringProducer(producer, 'topic');
  const appendTwice = async (name: string) => {
    await gathering.append(message(`${name}1`));
    await gathering.append(message(`${name}2`));
  };
  const both = Promise.all([appendTwice('a'), appendTwice('b')]);
  await turn();
  answers[0]?.acknowledge();
  await turn();
  expect(sent).toEqual([
    ['a1', 'b1'],
    ['a2', 'b2'],
  ]);
  answers[1]?.acknowledge();
  await both;
});

it('fails those whose request failed, and sends the others', async () => {
  const { producer, answers } = fakeProducer();
  const gathering = new GatheringProducer(producer, 'topic');
  const failing = gathering.append(message('1'));
  await turn();
  const working = gathering.append(message('2'));
  answers[0]?.refuse(new Error('no leader'));
  await expect(failing).rejects.toThrow('no leader');
  await turn();
  answers[1]?.acknowledge();
  await expect(working).resolves.toBeUndefined();
});
