import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { AskedEvent, OrgId } from '#libs/domain';
import type { EventAnswer, EventAnswers } from '#libs/postgres';
import { oneTo } from '../../../../../test/support/sequence.js';
import { AnswersInTurn, type AnsweredEvent } from './answers-in-turn.js';

const ORG = 'org' as OrgId;
const EVENT = {} as AskedEvent;
const ANSWERS = [{}] as unknown as readonly EventAnswer[];
const ANSWERED = { event: EVENT, answers: ANSWERS };

/** The answers that are being found. */
let begun: { readonly orgId: OrgId; readonly end: () => void; readonly fail: () => void }[];
/** How many events were read. */
let found: number;
let answers: AnswersInTurn;

beforeEach(() => {
  begun = [];
  found = 0;
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

function find(): Promise<AskedEvent> {
  found++;
  return Promise.resolve(EVENT);
}

function answer({ orgId = ORG, signal = new AbortController().signal } = {}): Promise<AnsweredEvent | undefined> {
  return answers.of(orgId, find, signal);
}

describe('the answers about events of an organization', () => {
  it('are found one event at a time, beside those of others', async () => {
    const asked = [answer(), answer(), answer({ orgId: 'other' as OrgId })];
    await nextTurn();
    expect(begun.map(({ orgId }) => orgId)).toEqual([ORG, 'other']);
    // The one that waits holds no event.
    expect(found).toBe(2);
    begun[0]?.end();
    await nextTurn();
    expect(begun.map(({ orgId }) => orgId)).toEqual([ORG, 'other', ORG]);
    for (const { end } of begun) end();
    expect(await Promise.all(asked)).toEqual([ANSWERED, ANSWERED, ANSWERED]);
  });

  it('are not found for requests that left the line', async () => {
    const left = new AbortController();
    const [first, leaves, last] = [answer(), answer({ signal: left.signal }), answer()];
    left.abort();
    expect(await leaves).toBeUndefined();
    await nextTurn();
    begun[0]?.end();
    await first;
    await nextTurn();
    expect([begun.length, found]).toEqual([2, 2]);
    begun[1]?.end();
    expect(await last).toEqual(ANSWERED);
  });

  it('are refused when too many wait, and not those of another organization', async () => {
    const left = new AbortController();
    const first = answer();
    const waiting = oneTo(500).map(() => answer({ signal: left.signal }));
    await expect(answer()).rejects.toMatchObject({ code: 'rate_limited', options: { retryAfterSeconds: 1 } });
    const other = answer({ orgId: 'other' as OrgId });
    left.abort();
    await Promise.all(waiting);
    const next = answer();
    await nextTurn();
    for (const { end } of begun) end();
    expect(await Promise.all([first, other])).toEqual([ANSWERED, ANSWERED]);
    await nextTurn();
    begun[2]?.end();
    expect(await next).toEqual(ANSWERED);
  });

  it('are missing if they cannot be read', async () => {
    const failing = answer();
    await nextTurn();
    begun[0]?.fail();
    await expect(failing).rejects.toThrow('Postgres is away');
  });
});
