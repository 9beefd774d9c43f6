import { describe, expect, it } from '@jest/globals';
import type { DueAttempt } from '#libs/domain';
import type { DispatchLookupResult, EndpointDirectory, UnreadableTarget } from '#libs/postgres';
import { createLogger } from '#libs/runtime';
import { aDueAttempt, anEndpointId } from '../../../../test/support/due-attempts.js';
import { oneTo } from '../../../../test/support/sequence.js';
import { DispatchLookup } from './dispatch-lookup.js';

type Answer = (attempts: readonly DueAttempt[]) => Promise<readonly (DispatchLookupResult | UnreadableTarget)[]>;

/** Returns a look-up result that shows which attempt it belongs to. */
function resultOf({ delivery }: DueAttempt): DispatchLookupResult {
  return {
    kind: 'target',
    target: {
      url: `https://${delivery.seq}`,
      secret: '',
      previousSecret: null,
      activation: 1,
    },
  };
}

function aLookup(answer: Answer, signal = new AbortController().signal) {
  const queries: number[] = [];
  const directory = {
    lookUp: (attempts: readonly DueAttempt[]) => {
      queries.push(attempts.length);
      return answer(attempts);
    },
  };
  const lookup = new DispatchLookup(directory as unknown as EndpointDirectory, createLogger('silent', 'test'), signal);
  return { lookup, queries };
}

describe('looking up many attempts at the same time', () => {
  it('takes few queries, and gives each its own result', async () => {
    const { lookup, queries } = aLookup((attempts) => Promise.resolve(attempts.map(resultOf)));
    const attempts = oneTo(600).map((n) => aDueAttempt(n));
    const results = await Promise.all(attempts.map((due) => lookup.look(due)));
    expect(results).toEqual(attempts.map(resultOf));
    expect(queries).toEqual([256, 256, 88]);
  });

  it('takes a few more if they have many followers', async () => {
    const { lookup, queries } = aLookup((attempts) => Promise.resolve(attempts.map(resultOf)));
    const attempts = [499, 499, 499, 499, 499, 0].map((followers, nth) =>
      aDueAttempt(nth + 1, anEndpointId(), { followers: oneTo(followers).map((seq) => aDueAttempt(seq)) }),
    );
    const results = await Promise.all(attempts.map((due) => lookup.look(due)));
    expect(results).toEqual(attempts.map(resultOf));
    expect(queries).toEqual([4, 2]);
  });

  it('asks again for what is asked while a query is on its way: its answer may be outdated', async () => {
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { lookup, queries } = aLookup(async (attempts) => {
      if (queries.length === 1) await gate;
      return attempts.map(resultOf);
    });
    const first = lookup.look(aDueAttempt());
    await Promise.resolve();
    await Promise.resolve();
    const second = lookup.look(aDueAttempt());
    release();
    await Promise.all([first, second]);
    expect(queries).toEqual([1, 1]);
  });
});

it('an endpoint that cannot be read keeps nobody else waiting, and is reported', async () => {
  const error = new Error('no key');
  const { lookup } = aLookup((attempts) =>
    Promise.resolve(attempts.map((due) => (due.delivery.seq === 1 ? { kind: 'unreadable', error } : resultOf(due)))),
  );
  const results = await Promise.all([1, 2].map((seq) => lookup.look(aDueAttempt(seq))));
  expect(results).toEqual([{ kind: 'unreadable', error }, resultOf(aDueAttempt(2))]);
});

describe('a look-up while Postgres is away', () => {
  it('waits for as long as it takes', async () => {
    let failures = 3;
    const { lookup, queries } = aLookup((attempts) =>
      failures-- > 0 ? Promise.reject(new Error('away')) : Promise.resolve(attempts.map(resultOf)),
    );
    expect(await lookup.look(aDueAttempt())).toEqual(resultOf(aDueAttempt()));
    expect(queries).toEqual([1, 1, 1, 1]);
  });

  it('ends with the process', async () => {
    const ending = new AbortController();
    const { lookup } = aLookup(() => {
      ending.abort(new Error('the process ends'));
      return Promise.reject(new Error('away'));
    }, ending.signal);
    await expect(lookup.look(aDueAttempt())).rejects.toThrow();
  });
});
