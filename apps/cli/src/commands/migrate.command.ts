import { Command } from 'commander';
import { MigrationUnderWayError, type Store } from '#libs/postgres';
import { untilItWorks, type Environment } from '#libs/runtime';
import { adoptFeedList } from '../open-feed.js';

/** The environment of the command. */
export interface MigrateContext {
  /** Passes on a store that is not open, because opening it needs the schema. */
  readonly withUnopenedStore: <T>(act: (store: Store) => Promise<T>) => Promise<T>;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
}

/** `migrate`: migrates the schema, for processes that do not do it themselves (`MIGRATE_AT_START=false`). */
export function migrateCommand(context: MigrateContext, environment: Environment = process.env): Command {
  return new Command('migrate')
    .description('migrate the database schema')
    .option('--dry-run', 'only list the missing migrations')
    .action(async ({ dryRun = false }: { readonly dryRun?: boolean }) => {
      const migrations = await context.withUnopenedStore(async (main) => {
        const migrate = (store: Store) => (dryRun ? store.pendingMigrations() : migrateInTurn(store, context));
        const found = [...(await migrate(main))];
        // Only with its own schema can the main database say which others hold the feed.
        if (!dryRun || found.length === 0) {
          await main.openNow();
          await adoptFeedList(main, environment);
        }
        for (const { store, name } of main.feed.others) {
          found.push(...(await migrate(store)).map((each) => `${each} in ${name}`));
        }
        return found;
      });
      for (const name of migrations) context.print(`${dryRun ? 'missing' : 'applied'} ${name}`);
      if (migrations.length === 0) context.print('The schema is up to date.');
    });
}

/** Migrates when no other process does, and prints once what it waits for. */
async function migrateInTurn(store: Store, { print }: MigrateContext): Promise<readonly string[]> {
  return untilItWorks(() => store.migrate(), {
    onFailure: (error, failures) => {
      if (!(error instanceof MigrationUnderWayError)) throw error;
      if (failures === 1) print(`waiting: ${error.message}`);
    },
  });
}
