import { OperatorError } from '#libs/domain';
import { awayReason, FeedPlaces, type Store } from '#libs/postgres';
import { CliError } from './cli-error.js';

/** Opens the other databases that share the feed: a command needs all of them. @throws CliError, or if one is wrong */
export async function openFeed(store: Store, { placesAreChecked } = { placesAreChecked: true }): Promise<void> {
  for (const server of store.feed.others) {
    try {
      await server.store.openNow();
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      throw new CliError(
        `the database ${server.name} of PROJECTION_DATABASE_URLS cannot be used: ${awayReason(error)}`,
      );
    }
  }
  if (placesAreChecked) await new FeedPlaces(store).joinAll();
}
