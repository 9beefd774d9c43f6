import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/infrastructure/database.js';
import { aStore, migrateTestDatabase } from '../../../../test/support/store.js';
import type { Store } from './store.js';

let database: TestDatabase;
let store: Store;

beforeAll(async () => {
  database = await createTestDatabase(migrateTestDatabase);
  store = aStore(database.url);
  await store.open(() => undefined);
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

/** Texts with what array literals give a meaning to. Postgres stores neither U+0000 nor half of a surrogate pair. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    'null',
    'NULL',
    '{}',
    '"',
    '\\',
    'a,b',
    ' a ',
    '\n',
    "it's",
    'whe_01',
    '2026-11-25T04:00:00.000Z',
  ),
  fc.string({ unit: 'binary' }).map((drawn) => drawn.replaceAll('\0', '')),
);
const number = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });

it('Postgres gets the arrays as they are', async () => {
  const arrays = fc.tuple(fc.array(fc.option(text)), fc.array(fc.option(number)), fc.array(fc.boolean()));
  await fc.assert(
    fc.asyncProperty(arrays, async ([texts, numbers, flags]) => {
      const sql = 'select $1::text[] as texts, $2::int[] as numbers, $3::boolean[] as flags';
      const expected = [{ texts, numbers, flags }];
      expect(await store.query(sql, [texts, numbers, flags])).toEqual(expected);
      expect(await store.prepared('arrays', sql, [texts, numbers, flags])).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

it('other arrays are left to the driver', async () => {
  const bytes = [Buffer.from([0, 255]), Buffer.from('')];
  expect(await store.query('select $1::bytea[] as bytes', [bytes])).toEqual([{ bytes }]);
  expect(await store.query('select $1::int[] as nested', [[[1], [2]]])).toEqual([{ nested: [[1], [2]] }]);
});
