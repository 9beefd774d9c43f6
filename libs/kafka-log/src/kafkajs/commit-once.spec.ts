import { createRequire } from 'node:module';
import { beforeAll, expect, it } from '@jest/globals';
import { commitOnce } from './commit-once.js';

interface Runner {
  readonly prototype: { commitOffsets(offsets: unknown): Promise<void> };
}

const runners = createRequire(import.meta.url)('kafkajs/src/consumer/runner.js') as Runner;

beforeAll(commitOnce);

function aRunner(running: boolean) {
  const sent: unknown[] = [];
  const consumerGroup = {
    commitOffsets: (offsets: unknown) => {
      sent.push(offsets);
      return Promise.reject(new Error('the group is rebalancing'));
    },
  };
  // As kafkajs has it: what is retried, is called again.
  const retrier = async (act: () => Promise<void>) => {
    await act().catch(act);
  };
  const runner = Object.assign(Object.create(runners.prototype) as Runner['prototype'], {
    running,
    consumerGroup,
    retrier,
    logger: { debug: () => undefined, error: () => undefined },
  });
  return { sent, runner };
}

it('sends a commit that fails once: the next one would be in the name of another member', async () => {
  const { sent, runner } = aRunner(true);
  await expect(runner.commitOffsets('offsets')).rejects.toThrow('rebalancing');
  expect(sent).toEqual(['offsets']);
});

it('sends nothing for a consumer that has ended', async () => {
  const { sent, runner } = aRunner(false);
  await runner.commitOffsets('offsets');
  expect(sent).toEqual([]);
});
