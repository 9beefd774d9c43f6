import { ADVISORY_LOCKS, type Store } from '#libs/postgres';
import { CliError } from './cli-error.js';
import { refuseIfMoved } from './open-feed.js';

/**
 * Runs `act` while no other command moves, rebuilds or repairs what the databases hold: each begins with what it finds,
 * and writes that later.
 * @param store that of the main database @param act gets a signal that aborts when another one may begin
 * @throws CliError when another one does
 */
export async function alone<T>(store: Store, act: (lost: AbortSignal) => Promise<T>): Promise<T> {
  const done = await store.exclusively(ADVISORY_LOCKS.feedMove, async (lost) => {
    // The other command may have just ended.
    await refuseIfMoved(store);
    return { result: await act(lost) };
  });
  if (done === null) {
    throw new CliError(
      'Another move, rebuild or repair is under way. Wait until it has ended. If its machine was lost, that takes a minute.',
    );
  }
  return done.result;
}
