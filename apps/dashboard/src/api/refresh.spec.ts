import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { refresh } from './refresh.js';

const FIGURES = ['figures'];

let queries: QueryClient;
/** The reads that wait for their answer. */
let reads: ((answer: string) => void)[];
let failed: ((error: Error) => void)[];
let shown: (string | undefined)[];
let hide: () => void;

/** Lets everything happen that an answer leads to. */
const settled = async () => {
  // If the machine stood still, what is due meanwhile comes first.
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setTimeout(resolve, 5));
};

beforeEach(() => {
  queries = new QueryClient({ defaultOptions: { queries: { networkMode: 'always', retry: false, gcTime: Infinity } } });
  [reads, failed, shown] = [[], [], []];
  const observer = new QueryObserver(queries, {
    queryKey: FIGURES,
    queryFn: () =>
      new Promise<string>((resolve, reject) => {
        reads.push(resolve);
        failed.push(reject);
      }),
  });
  hide = observer.subscribe(({ data }) => {
    if (data !== shown.at(-1)) shown.push(data);
  });
});

afterEach(() => {
  hide();
  queries.clear();
});

describe('a refresh', () => {
  beforeEach(async () => {
    await settled();
    reads[0]!('first');
    await settled();
    refresh(queries, { queryKey: FIGURES });
    await settled();
  });

  it('reads again what is shown', async () => {
    expect(reads).toHaveLength(2);
    reads[1]!('second');
    await settled();
    expect(shown).toEqual(['first', 'second']);
    expect(reads).toHaveLength(2);
  });

  it('keeps the answer of a read that is under way, and reads once more after it, however many changes came', async () => {
    refresh(queries, { queryKey: FIGURES });
    refresh(queries, { queryKey: FIGURES });
    expect(reads).toHaveLength(2);
    reads[1]!('second');
    await settled();
    expect(shown).toEqual(['first', 'second']);
    expect(reads).toHaveLength(3);
    reads[2]!('third');
    await settled();
    expect(shown).toEqual(['first', 'second', 'third']);
    expect(reads).toHaveLength(3);
  });

  it('reads once more after a read that failed', async () => {
    refresh(queries, { queryKey: FIGURES });
    failed[1]!(new Error('away'));
    await settled();
    expect(reads).toHaveLength(3);
    reads[2]!('third');
    await settled();
    expect(shown).toEqual(['first', 'third']);
    expect(reads).toHaveLength(3);
  });

  it('leaves out what its filter leaves out when the read ends', async () => {
    let isLeft = false;
    const predicate = () => !isLeft;
    refresh(queries, { queryKey: FIGURES, predicate });
    isLeft = true;
    reads[1]!('second');
    await settled();
    expect(shown).toEqual(['first', 'second']);
    expect(reads).toHaveLength(2);
  });
});
