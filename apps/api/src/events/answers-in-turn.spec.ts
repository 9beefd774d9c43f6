import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { AskedEvent, OrgId } from '#libs/domain';
import type { EventAnswer, EventAnswers } from '#libs/postgres';
import { AnswersInTurn } from './answers-in-turn.js';

const ORG = 'org' as OrgId;
const EVENT = {} as AskedEvent;
const ANSWERS = [{}] as unknown as readonly EventAnswer[];

/** The answers that are being found. */
let begun: { readonly orgId: OrgId; readonly end: () => void; readonly fail: () => void }[];
let answers: AnswersInTurn;

beforeEach(() => {
  begun = [];
  const of = (orgId: OrgId) =>
    new Promise<readonly EventAnswer[]>((resolve, reject) => {
      const end = () => {
        resolve(ANSWERS);
      };
      const fail = () => {
        reject(new Error('Postgres is away'));
      };
      begun.push({ orgId, end, fail });
    });
  answers = new AnswersInTurn({ of } as unknown as EventAnswers, { now: () => 0 });
});

function answer({ orgId = ORG, signal = new AbortController().signal } = {}): Promise<readonly EventAnswer[]> {
  return answers.of(orgId, EVENT, signal);
}

describe('the answers about events of an organization', () => {
  it('are found one event at a time, beside those of others', async () => {
    const asked = [answer(), answer(), answer({ orgId: 'other' as OrgId })];
    await nextTurn();
    expect(begun.map(({ orgId }) => orgId)).toEqual([ORG, 'other']);
    begun[0]?.end();
    await nextTurn();
    expect(begun.map(({ orgId }) => orgId)).toEqual([ORG, 'other', ORG]);
    for (const { end } of begun) end();
    expect(await Promise.all(asked)).toEqual([ANSWERS, ANSWERS, ANSWERS]);
  });

  it('are not found for requests that left the line', async () => {
    const left = new AbortController();
    const [first, leaves, last] = [answer(), answer({ signal: left.signal }), answer()];
    left.abort();
    expect(await leaves).toEqual([]);
    begun[0]?.end();
    await first;
    await nextTurn();
    expect(begun).toHaveLength(2);
    begun[1]?.end();
    expect(await last).toEqual(ANSWERS);
  });

  it('are missing if they cannot be read', async () => {
    const failing = answer();
    await nextTurn();
    begun[0]?.fail();
    await expect(failing).rejects.toThrow('Postgres is away');
  });
});
