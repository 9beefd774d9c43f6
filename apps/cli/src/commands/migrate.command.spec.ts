import { afterEach, expect, it, jest } from '@jest/globals';
import { FeedLists, MigrationUnderWayError, type Store } from '#libs/postgres';
import { migrateCommand } from './migrate.command.js';

afterEach(() => {
  jest.restoreAllMocks();
});

it('waits for the migrations of another process, and says so once', async () => {
  jest.spyOn(FeedLists.prototype, 'adopt').mockResolvedValue(false);
  const migrate = jest
    .fn<Store['migrate']>()
    .mockRejectedValueOnce(new MigrationUnderWayError('db:5432/gapless'))
    .mockRejectedValueOnce(new MigrationUnderWayError('db:5432/gapless'))
    .mockResolvedValue(['Last1']);
  const store = { migrate, openNow: () => Promise.resolve(), feed: { others: [] } } as never;
  const printed: string[] = [];
  const context = {
    withUnopenedStore: <T>(act: (store: Store) => Promise<T>) => act(store),
    print: (line: string) => printed.push(line),
  };
  await migrateCommand(context, {}).parseAsync([], { from: 'user' });
  expect(printed).toEqual([
    'waiting: another process is migrating the schema of db:5432/gapless: wait until it has ended',
    'applied Last1',
  ]);
});
