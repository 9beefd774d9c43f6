import { describe, expect, it } from '@jest/globals';
import { ReadReplicas, type ReplicaReadOutcome } from './read-replicas.js';

const NOW_MS = 1_000_000;

class AStore {
  readonly close = () => Promise.resolve();
}

function replicasOf(...names: readonly string[]) {
  const reads: (readonly [string, ReplicaReadOutcome])[] = [];
  const failures: string[] = [];
  const replicas = new ReadReplicas(
    names.map((name) => ({ name, store: new AStore() })),
    {
      maxLagMs: 5_000,
      onRead: (name, outcome) => reads.push([name, outcome]),
      onFailure: (_, reason) => failures.push(reason),
    },
  );
  const [first, second, third] = replicas.all;
  return { replicas, first: first!, second: second!, third: third!, reads, failures };
}

describe('ReadReplicas', () => {
  it('takes each replica of the database in turn, and none of another one', () => {
    const { replicas, first, second, third } = replicasOf('a', 'b', 'c');
    for (const [replica, place] of [
      [first, 0],
      [second, 1],
      [third, 1],
    ] as const)
      replicas.serves(replica, { place, freshAtMs: NOW_MS });
    const taken = () => replicas.of(1, NOW_MS)?.name;
    expect(new Set([taken(), taken()])).toEqual(new Set(['b', 'c']));
    expect(replicas.of(0, NOW_MS)?.name).toBe('a');
    expect(replicas.of(2, NOW_MS)).toBeUndefined();
  });

  it('takes none before its first good look, none that is too old, and none that is left out', () => {
    const { replicas, first } = replicasOf('a');
    expect(replicas.of(0, NOW_MS)).toBeUndefined();
    replicas.serves(first, { place: 0, freshAtMs: NOW_MS - 5_000 });
    expect(replicas.of(0, NOW_MS)).toBe(first);
    expect(replicas.of(0, NOW_MS + 1)).toBeUndefined();
    replicas.leaveOut(first);
    expect(replicas.of(0, NOW_MS)).toBeUndefined();
  });

  it.each([
    [Object.assign(new Error('canceling statement due to conflict with recovery'), { code: '40001' }), 'conflict'],
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 'away'],
    [new Error('relation "events" does not exist'), 'failed'],
  ] as const)('counts %p as %s, and leaves the replica out', async (error, outcome) => {
    const { replicas, first, reads, failures } = replicasOf('a');
    replicas.serves(first, { place: 0, freshAtMs: NOW_MS });
    const read = () =>
      replicas.read(
        first,
        () => Promise.reject(error),
        () => true,
      );
    expect(await Promise.all([read(), read()])).toEqual([null, null]);
    expect(reads).toEqual([
      ['a', outcome],
      ['a', outcome],
    ]);
    expect(failures).toEqual([error.message]);
    expect(replicas.of(0, NOW_MS)).toBeUndefined();
  });

  it('keeps a replica that has not enough yet', async () => {
    const { replicas, first, reads } = replicasOf('a');
    replicas.serves(first, { place: 0, freshAtMs: NOW_MS });
    const found = await replicas.read(
      first,
      () => Promise.resolve(7),
      (n) => n > 7,
    );
    expect(found).toBeNull();
    expect(reads).toEqual([['a', 'behind']]);
    expect(replicas.of(0, NOW_MS)).toBe(first);
  });
});
