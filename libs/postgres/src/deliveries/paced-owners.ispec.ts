import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Store } from '../connection/store.js';
import { aTestStore } from '../testing/a-test-store.js';
import { PacedOwners } from './paced-owners.js';

let store: Store;
let drop: () => Promise<void>;
let owners: PacedOwners;
let topic: string;
let one: string;
let other: string;

beforeAll(async () => {
  ({ store, drop } = await aTestStore());
  owners = new PacedOwners(store);
});

beforeEach(() => {
  [topic, one, other] = [randomUUID(), randomUUID(), randomUUID()];
});

afterAll(() => drop());

it('a partition can be taken when its owner has left, by one only', async () => {
  expect(await owners.take(one, topic, [0, 1])).toEqual([]);
  await owners.seize(one, topic, [0, 1]);
  expect(await owners.take(other, topic, [0, 1])).toEqual([]);
  await owners.leave(one, topic, [0]);
  const taken = await Promise.all([other, randomUUID()].map((owner) => owners.take(owner, topic, [0, 1])));
  expect(taken.toSorted((a, b) => a.length - b.length)).toEqual([[], [0]]);
});

it('an owner whose answer was lost gets it again', async () => {
  await owners.seize(one, topic, [0]);
  await owners.leave(one, topic, [0]);
  expect(await owners.take(other, topic, [0])).toEqual([0]);
  expect(await owners.take(other, topic, [0])).toEqual([0]);
});

it('an owner whose partition was seized cannot leave it', async () => {
  await owners.seize(one, topic, [0]);
  await owners.seize(other, topic, [0]);
  await owners.leave(one, topic, [0]);
  expect(await owners.take(one, topic, [0])).toEqual([]);
  await owners.leave(other, topic, [0]);
  expect(await owners.take(one, topic, [0])).toEqual([0]);
});

it('seizing what one has already writes nothing', async () => {
  const version = async () => (await store.query('select xmin::text from paced_owners where topic = $1', [topic]))[0];
  expect(await owners.seize(one, topic, [0])).toEqual([0]);
  const before = await version();
  expect(await owners.seize(one, topic, [0])).toEqual([]);
  expect(await version()).toEqual(before);
  await owners.leave(one, topic, [0]);
  expect(await owners.seize(one, topic, [0])).toEqual([0]);
  expect(await owners.take(other, topic, [0])).toEqual([]);
});
