import { Command } from 'commander';
import type { Store } from '#libs/postgres';

/** The environment of the command. */
export interface MigrateContext {
  /** Passes on a store that is not open, because opening it may migrate. */
  readonly withUnopenedStore: <T>(act: (store: Store) => Promise<T>) => Promise<T>;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
}

/** `migrate`: migrates the schema, for processes that do not do it themselves (`MIGRATE_AT_START=false`). */
export function migrateCommand(context: MigrateContext): Command {
  return new Command('migrate')
    .description('migrate the database schema')
    .option('--dry-run', 'only list the missing migrations')
    .action(async ({ dryRun = false }: { readonly dryRun?: boolean }) => {
      const migrations = await context.withUnopenedStore(async (main) => {
        const found: string[] = [];
        for (const { store, name } of [{ store: main, name: null }, ...main.feed.others]) {
          const names = dryRun ? await store.pendingMigrations() : await store.migrate();
          found.push(...names.map((each) => (name === null ? each : `${each} in ${name}`)));
        }
        return found;
      });
      for (const name of migrations) context.print(`${dryRun ? 'missing' : 'applied'} ${name}`);
      if (migrations.length === 0) context.print('The schema is up to date.');
    });
}
