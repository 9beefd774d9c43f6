import { beforeEach, describe, expect, it } from '@jest/globals';
import { ShortMemory } from './short-memory.js';

let nowMs: number;
let asked: number;
let memory: ShortMemory;

beforeEach(() => {
  nowMs = 1_000_000;
  asked = 0;
  memory = new ShortMemory({ now: () => nowMs });
});

const ask = (name = 'overview of one') => memory.ask(name, () => Promise.resolve(++asked));

describe('ShortMemory', () => {
  it('asks once for those who want to know at the same time, and a moment later', async () => {
    expect(await Promise.all([ask(), ask()])).toEqual([1, 1]);
    nowMs += 1_999;
    expect(await ask()).toBe(1);
  });

  it('asks again after two seconds', async () => {
    await ask();
    nowMs += 2_000;
    expect(await ask()).toBe(2);
  });

  it('keeps questions apart', async () => {
    expect([await ask('of one'), await ask('of another'), await ask('of one')]).toEqual([1, 2, 1]);
  });

  it('asks again what failed', async () => {
    await expect(memory.ask('overview of one', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await ask()).toBe(1);
  });
});
