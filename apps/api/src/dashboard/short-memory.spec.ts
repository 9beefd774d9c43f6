import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { OrgId } from '#libs/domain';
import { ShortMemory } from './short-memory.js';

const ORG = '6f1fbb3c-51d4-4bd9-9d0b-7a0ac8c5a001' as OrgId;

let nowMs: number;
let asked: number;
let memory: ShortMemory;

afterEach(() => {
  jest.restoreAllMocks();
});

beforeEach(() => {
  nowMs = 1_000_000;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  asked = 0;
  memory = new ShortMemory();
});

const ask = (question = 'overview', orgId: OrgId | null = ORG) =>
  memory.ask(orgId, question, () => Promise.resolve(++asked));

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

  it('asks a slow question once, and counts the time from its answer', async () => {
    let answer: (value: number) => void = () => undefined;
    const first = memory.ask(ORG, 'overview', () => {
      asked++;
      return new Promise<number>((resolve) => {
        answer = resolve;
      });
    });
    nowMs += 5_000;
    const second = ask();
    answer(7);
    expect(await Promise.all([first, second])).toEqual([7, 7]);
    nowMs += 1_999;
    expect(await ask()).toBe(7);
    expect(asked).toBe(1);
    nowMs += 1;
    expect(await ask()).toBe(2);
  });

  it('asks again what has no answer after half a minute', async () => {
    void memory.ask(ORG, 'overview', () => new Promise<number>(() => undefined));
    nowMs += 30_000;
    expect(await ask()).toBe(1);
  });

  it('keeps questions apart, and organizations', async () => {
    expect([await ask('one'), await ask('another'), await ask('one', null), await ask('one')]).toEqual([1, 2, 3, 1]);
  });

  it('asks again what failed', async () => {
    await expect(memory.ask(ORG, 'overview', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await ask()).toBe(1);
  });

  it('holds 32 answers for an organization, the latest ones, whatever else it is asked', async () => {
    await ask('of others', null);
    for (let minutes = 0; minutes < 2_000; minutes++) await ask(`overview ${minutes}`);
    expect(memory.size).toBe(33);
    const before = asked;
    await ask('of others', null);
    await ask('overview 1999');
    await ask('overview 1968');
    expect(asked).toBe(before);
    await ask('overview 1967');
    expect(asked).toBe(before + 1);
  });

  it('holds 1,000 answers in all', async () => {
    for (let org = 0; org < 2_000; org++) await ask('overview', `${ORG}${org}` as OrgId);
    expect(memory.size).toBe(1_000);
  });
});
