import { OperatorError } from '#libs/domain';
import { awayReason, FeedLists, FeedPlaces, SecretCipher, type Store } from '#libs/postgres';
import { readSetting, SETTINGS, type Environment } from '#libs/runtime';
import { CliError } from './cli-error.js';
import { encryptionKeys } from './secrets/encryption-keys.js';

const LOOK_EVERY_MS = 1_000;

/** Uses the list of databases that holds the feed, as processes do. @param store an open one */
export async function adoptFeedList(store: Store, environment: Environment): Promise<void> {
  const settings = readSetting(SETTINGS.projectionDatabaseUrls, environment);
  if (settings.kind === 'problem') throw new CliError(settings.problem);
  await new FeedLists(store).adopt(settings.value, async () => new SecretCipher(await encryptionKeys(environment)));
}

/** @throws CliError if the feed has left the databases that the command opened */
export async function refuseIfMoved(store: Store): Promise<void> {
  if ((await new FeedLists(store).servedId()) !== store.feed.listId) {
    throw new CliError('the feed has moved to other databases meanwhile: run the command again');
  }
}

/** Ends a command that would go on with databases that the feed has left. */
function holdFeedList(store: Store): void {
  store.feed.leaseBy(async () => {
    await refuseIfMoved(store);
    store.feed.lookedAt(performance.now() + LOOK_EVERY_MS, false);
  });
  store.feed.lookedAt(performance.now() + LOOK_EVERY_MS, false);
}

/**
 * Opens the other databases that share the feed: a command needs all of them. If the feed moves to them, they may be new.
 * @throws CliError, or if one is wrong
 */
export async function openFeed(
  store: Store,
  environment: Environment,
  { placesAreChecked, movesFeed } = { placesAreChecked: true, movesFeed: false },
): Promise<void> {
  if (placesAreChecked) {
    await adoptFeedList(store, environment);
    holdFeedList(store);
  }
  for (const server of store.feed.others) {
    try {
      // Whatever MIGRATE_AT_START says: `gapless migrate` refuses a list that the feed has not moved to.
      if (movesFeed) await server.store.migrate();
      await server.store.openNow();
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      throw new CliError(`the database ${server.name} of the feed cannot be used: ${awayReason(error)}`);
    }
  }
  if (placesAreChecked) await new FeedPlaces(store).joinAll();
}
