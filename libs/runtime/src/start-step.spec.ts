import { describe, expect, it } from '@jest/globals';
import { startStep, StartStepError } from './start-step.js';

const passes = { isPassing: () => true };

function failing(times: number, error = new Error('not there yet')): () => Promise<string> {
  let calls = 0;
  return () => (++calls > times ? Promise.resolve(`call ${calls}`) : Promise.reject(error));
}

describe('a step of a start', () => {
  it('is repeated until it works, and says each time what it waits for and why', async () => {
    const waits: unknown[] = [];
    const onWait = (...wait: unknown[]) => waits.push(wait);
    await expect(startStep('the leader of a topic', failing(2), { ...passes, onWait })).resolves.toBe('call 3');
    expect(waits).toEqual([
      ['waiting for the leader of a topic: not there yet', 1, 100],
      ['waiting for the leader of a topic: not there yet', 2, 200],
    ]);
  });

  it('ends at once with an error that does not pass', async () => {
    const waits: string[] = [];
    const step = startStep('topics', failing(1, new Error('not authorized')), {
      isPassing: () => false,
      onWait: (reason) => waits.push(reason),
    });
    await expect(step).rejects.toThrow(/^not authorized$/);
    expect(waits).toEqual([]);
  });

  it('gives up once its time is over, and names what it waited for and the last reason', async () => {
    const step = startStep('the leader of a topic', failing(1), { ...passes, onWait: () => undefined, limitMs: 0 });
    await expect(step).rejects.toThrow(StartStepError);
    await expect(step).rejects.toThrow('waited 0 s for the leader of a topic, and gave up: not there yet');
  });

  it('ends when a step within it has given up', async () => {
    const inner = () => startStep('the leader', failing(1), { ...passes, onWait: () => undefined, limitMs: 0 });
    const outer = startStep('topics', inner, { ...passes, onWait: () => undefined });
    await expect(outer).rejects.toThrow('for the leader, and gave up');
  });

  it('ends when the process does', async () => {
    const ending = new AbortController();
    const step = startStep('topics', failing(100), {
      ...passes,
      onWait: () => {
        ending.abort();
      },
      signal: ending.signal,
    });
    await expect(step).rejects.toMatchObject({ name: 'AbortError' });
  });
});
