import { expect, it } from '@jest/globals';
import { allowRefusals, refusalOf } from './refused-records.js';

const [FINE, NOT_LEADER, NOT_ENOUGH_REPLICAS] = [0, 6, 19];

function aRequest(producerId = '7') {
  const partitions = [0, 1].map((partition) => ({ partition, messages: [{ value: Buffer.from('record') }] }));
  return { acks: -1, timeout: 1, producerId, topicData: [{ topic: 'topic', partitions }] };
}

/** As kafkajs does it. */
async function parse(response: unknown): Promise<unknown> {
  const { topics } = response as ReturnType<typeof anAnswer>;
  const failed = topics.flatMap(({ partitions }) => partitions).find(({ errorCode }) => errorCode !== FINE);
  return failed === undefined ? Promise.resolve(response) : Promise.reject(new Error(`code ${failed.errorCode}`));
}

function anAnswer(...codes: readonly number[]) {
  return {
    topics: [{ topicName: 'topic', partitions: codes.map((errorCode, partition) => ({ partition, errorCode })) }],
  };
}

it('lets a request succeed of which a partition has written nothing', async () => {
  const answer = anAnswer(FINE, NOT_ENOUGH_REPLICAS);
  expect(await allowRefusals(aRequest(), parse)(answer)).toBe(answer);
  expect(refusalOf(NOT_ENOUGH_REPLICAS)).toMatchObject({ type: 'NOT_ENOUGH_REPLICAS', retriable: true });
});

it('leaves to kafkajs what a retry with the same numbers helps against', async () => {
  const answer = anAnswer(NOT_ENOUGH_REPLICAS, NOT_LEADER);
  await expect(allowRefusals(aRequest(), parse)(answer)).rejects.toThrow(`code ${NOT_LEADER}`);
  expect(refusalOf(NOT_LEADER)).toBeUndefined();
});

it('leaves requests to kafkajs that repeat one, and those of other producers', async () => {
  const answer = anAnswer(FINE, NOT_ENOUGH_REPLICAS);
  const request = aRequest();
  allowRefusals(request, parse);
  for (const other of [request, aRequest('-1')]) {
    await expect(allowRefusals(other, parse)(answer)).rejects.toThrow(`code ${NOT_ENOUGH_REPLICAS}`);
  }
});
