import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, expect, it } from '@jest/globals';
import { endAfterJoin } from './end-after-join.js';

interface Runner {
  readonly running: boolean;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const KafkajsRunner = createRequire(import.meta.url)('kafkajs/src/consumer/runner.js') as new (
  options: object,
) => Runner;

beforeAll(endAfterJoin);

function aJoiningConsumer() {
  const steps: string[] = [];
  const note = (step: string) => () => Promise.resolve(void steps.push(step));
  let answer: (error?: Error) => void = () => undefined;
  const joined = new Promise<void>((resolve, reject) => {
    answer = (error) => {
      if (error === undefined) resolve();
      else reject(error);
    };
  });
  const ignore = () => undefined;
  const logger = { debug: ignore, info: ignore, error: ignore, namespace: () => logger };
  const consumerGroup = {
    connect: () => Promise.resolve(),
    joinAndSync: () => joined,
    getNodeIds: () => ['1'],
    fetch: () => delay(5, []),
    heartbeat: () => Promise.resolve(),
    leave: note('left'),
    coordinator: { connect: () => Promise.resolve(), disconnect: note('coordinator closed') },
    cluster: { disconnect: note('cluster closed') },
  };
  const runner: Runner = new KafkajsRunner({
    logger,
    consumerGroup,
    instrumentationEmitter: { emit: () => undefined },
    concurrency: 1,
    // As kafkajs does it.
    onCrash: async () => {
      await runner.stop();
      steps.push('crashed');
    },
  });
  return { runner, steps, answer };
}

it('a consumer that is stopped while it joins leaves once it has joined', async () => {
  const { runner, steps, answer } = aJoiningConsumer();
  const started = runner.start();
  await runner.stop();
  expect(steps).toEqual([]);
  answer();
  await started;
  expect(runner.running).toBe(false);
  expect(steps[0]).toBe('left');
  expect(steps.slice(-2)).toEqual(['coordinator closed', 'cluster closed']);
});

it('a consumer that is stopped while it joins leaves also if that fails, and is not started again', async () => {
  const { runner, steps, answer } = aJoiningConsumer();
  const started = runner.start();
  await runner.stop();
  answer(new Error('the broker has closed the connection'));
  await started;
  expect(steps).toEqual(['left', 'coordinator closed', 'cluster closed']);
});

it('a consumer whose join fails crashes, and its connections are left to what starts it again', async () => {
  const { runner, steps, answer } = aJoiningConsumer();
  answer(new Error('the broker has closed the connection'));
  await runner.start();
  expect(steps).toEqual(['crashed']);
});

it('a consumer that has joined goes on until it is stopped', async () => {
  const { runner, steps, answer } = aJoiningConsumer();
  answer();
  await runner.start();
  expect([runner.running, steps]).toEqual([true, []]);
  await runner.stop();
  expect([runner.running, steps]).toEqual([false, ['left']]);
});
