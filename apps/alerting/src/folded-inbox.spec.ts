import { expect, it } from '@jest/globals';
import { FoldedInbox } from './folded-inbox.js';

const NEVER = new AbortController().signal;

it('knows the log offset that holds the inbox up to what was folded, and no further', () => {
  const folded = new FoldedInbox();
  expect([folded.knows(1), folded.logEndOf(1, 5)]).toEqual([false, undefined]);
  folded.noted(1, { nextOffset: 40, inboxOffset: 9, dueAtMs: Infinity });
  expect([5, 10, 11, 0].map((inboxEnd) => folded.logEndOf(1, inboxEnd))).toEqual([40, 40, undefined, undefined]);
  expect(folded.logEndOf(2, 5)).toBeUndefined();
});

it('goes back with the fold, after a database was restored', () => {
  const folded = new FoldedInbox();
  folded.noted(1, { nextOffset: 40, inboxOffset: 9, dueAtMs: Infinity });
  folded.noted(1, { nextOffset: 20, inboxOffset: 4, dueAtMs: Infinity });
  expect(folded.logEndOf(1, 9)).toBeUndefined();
});

it('wakes who waits for the next batch, and passes on when its chats are due', async () => {
  const folded = new FoldedInbox();
  const due: unknown[] = [];
  folded.onWaiting = (...one) => due.push(one);
  const next = folded.next(60_000, NEVER);
  folded.noted(0, { nextOffset: 1, inboxOffset: undefined, dueAtMs: 5 });
  await next;
  expect(due).toEqual([[0, 5]]);
  expect(folded.knows(0)).toBe(false);
  await expect(folded.next(60_000, AbortSignal.abort(new Error('the process ends')))).rejects.toThrow('ends');
});
