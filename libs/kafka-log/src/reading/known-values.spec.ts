import { expect, it } from '@jest/globals';
import { hasLeader, knownValues } from './known-values.js';

const FIRST = [0, 'first'] as const;

it('has the values of a topic whose partitions all have a leader', () => {
  expect(knownValues('log', [FIRST, [1, 'second']])).toEqual(new Map([FIRST, [1, 'second']]));
});

it('has the other values while a partition has no leader, and none of it, so that it is not taken for empty', () => {
  const values = knownValues('log', [FIRST, [1, undefined]]);
  expect([values.get(0), values.get(2)]).toEqual(['first', undefined]);
  expect([0, 1, 2].filter((partition) => hasLeader(values, partition))).toEqual([0, 2]);
  expect([...values.keys()]).toEqual([0, 1]);
  expect([values.size, values.has(1), values.has(2)]).toEqual([2, true, false]);
  const uses = [
    () => values.get(1),
    () => [...values],
    () => [...values.entries()],
    () => [...values.values()],
    () => {
      values.forEach(() => undefined);
    },
  ];
  for (const use of uses) expect(use).toThrow('log/1 has no leader');
});
