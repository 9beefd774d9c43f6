import { describe, expect, it } from '@jest/globals';
import { Turns } from './turns.js';

/** An act that ends when the test says so. */
function anAct(began: string[], name: string): { act: () => Promise<string>; end: () => void; fail: () => void } {
  let end: () => void = () => undefined;
  let fail: () => void = () => undefined;
  const ended = new Promise<void>((resolve, reject) => {
    end = resolve;
    fail = () => {
      reject(new Error(name));
    };
  });
  const act = async () => {
    began.push(name);
    await ended;
    return name;
  };
  return { act, end, fail };
}

async function settle(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

describe('turns', () => {
  it('let each name do so much at a time, in the order in which it was asked', async () => {
    const began: string[] = [];
    const turns = new Turns<string>(2);
    const acts = ['a1', 'a2', 'a3', 'a4', 'b1'].map((name) => anAct(began, name));
    const results = acts.map(({ act }, index) => turns.of(index === 4 ? 'b' : 'a', act));
    await settle();
    expect(began).toEqual(['a1', 'a2', 'b1']);
    acts[1]?.end();
    await settle();
    expect(began).toEqual(['a1', 'a2', 'b1', 'a3']);
    for (const { end } of acts) end();
    expect(await Promise.all(results)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1']);
  });

  it('pass over those who have left the line', async () => {
    const began: string[] = [];
    const turns = new Turns<string>(1);
    const acts = ['first', 'leaves', 'last', 'has left'].map((name) => anAct(began, name));
    const [left, reason] = [new AbortController(), new Error('left')];
    const [first, leaves, last] = acts.slice(0, 3).map(({ act }, index) => {
      return turns.of('a', act, index === 1 ? left.signal : new AbortController().signal);
    });
    expect(turns.waiting('a')).toBe(2);
    left.abort(reason);
    await expect(leaves).rejects.toBe(reason);
    expect(turns.waiting('a')).toBe(1);
    await expect(turns.of('a', acts[3]!.act, left.signal)).rejects.toBe(reason);
    for (const { end } of acts) end();
    expect(await Promise.all([first, last])).toEqual(['first', 'last']);
    expect(began).toEqual(['first', 'last']);
    expect(turns.waiting('a')).toBe(0);
  });

  it('go on after a failure', async () => {
    const began: string[] = [];
    const turns = new Turns<string>(1);
    const [first, second] = [anAct(began, 'first'), anAct(began, 'second')];
    const failed = expect(turns.of('a', first.act)).rejects.toThrow('first');
    const done = turns.of('a', second.act);
    first.fail();
    await failed;
    second.end();
    expect(await done).toBe('second');
    expect(await turns.of('a', () => Promise.resolve('third'))).toBe('third');
  });
});
