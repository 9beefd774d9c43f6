import { describe, expect, it } from '@jest/globals';
import { SharedQuery } from './shared-query.js';

/** A store whose queries end when the test says so. */
class SlowStore {
  readonly queries: { readonly keys: readonly string[]; readonly end: (error?: Error) => void }[] = [];
  readonly values = new Map([
    ['a', 1],
    ['b', 2],
  ]);

  readonly fetch = (keys: readonly string[]) =>
    new Promise<ReadonlyMap<string, number>>((resolve, reject) => {
      this.queries.push({
        keys,
        end: (error) => {
          if (error === undefined) resolve(new Map(this.values));
          else reject(error);
        },
      });
    });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('SharedQuery', () => {
  it('asks once for what is asked in the same turn', async () => {
    const store = new SlowStore();
    const query = new SharedQuery(store.fetch);
    const answers = Promise.all([query.ask(['a']), query.ask(['b', 'a'])]);
    await turn();
    expect(store.queries.map(({ keys }) => keys)).toEqual([['a', 'b']]);
    store.queries[0]!.end();
    expect((await answers).map((found) => found.get('a'))).toEqual([1, 1]);
  });

  it('never answers with a query that began before the question', async () => {
    const store = new SlowStore();
    const query = new SharedQuery(store.fetch);
    const early = query.ask(['a']);
    await turn();
    store.values.delete('a');
    const late = query.ask(['a']);
    await turn();
    expect(store.queries).toHaveLength(1);
    store.values.set('a', 1);
    store.queries[0]!.end();
    await early;
    await turn();
    store.values.delete('a');
    store.queries[1]!.end();
    expect((await late).has('a')).toBe(false);
  });

  it('fails for every caller that waited for it, and works again for the next', async () => {
    const store = new SlowStore();
    const query = new SharedQuery(store.fetch);
    const failing = expect(query.ask(['a'])).rejects.toThrow('away');
    await turn();
    store.queries[0]!.end(new Error('away'));
    await failing;
    const next = query.ask(['b']);
    await turn();
    store.queries[1]!.end();
    expect((await next).get('b')).toBe(2);
  });

  it('splits what is too much for one query', async () => {
    const store = new SlowStore();
    const query = new SharedQuery(store.fetch);
    const many = Array.from({ length: 1_500 }, (_, index) => `k${index}`);
    const answers = Promise.all([query.ask(many), query.ask(['x', ...many])]);
    await turn();
    expect(store.queries[0]!.keys).toHaveLength(1_500);
    store.queries[0]!.end();
    await turn();
    expect(store.queries[1]!.keys).toHaveLength(1_501);
    store.queries[1]!.end();
    await answers;
  });
});
