import { OperatorError } from '#libs/domain';
import { ADVISORY_LOCKS } from '../connection/advisory-locks.js';
import type { FeedListId } from '../connection/feed-servers.js';
import { awayReason, isPostgresAway } from '../connection/postgres-away.js';
import type { FeedServer, Store } from '../connection/store.js';
import { FeedMove } from '../feed/feed-move.js';
import { LEFT_LIST } from './feed-lists.js';
import { giveInstallation } from './feed-places.js';

/** A database cannot become part of the feed. */
export class FeedTargetError extends OperatorError {
  override readonly name = 'FeedTargetError';
}

interface TargetRow {
  readonly id: string;
  readonly feed_place: number | null;
  readonly feed_places: number;
  readonly feed_list: FeedListId;
}

interface NextList {
  readonly id: string;
  /** Whether an interrupted move to it goes on: what its databases have is kept. */
  readonly isResumed: boolean;
}

/** The databases that the feed moves to. */
export class FeedTargets {
  /**
   * @param main the main database, with the list that is served
   * @param target the same database, with the next list
   */
  constructor(
    private readonly main: Store,
    private readonly target: Store,
  ) {}

  /**
   * Prepares each database for its part of the feed, and runs `act` while no other move uses them.
   * @param act gets a signal that aborts when another one may
   * @throws FeedTargetError if one of them cannot be used
   */
  async with<T>(next: NextList, act: (lost: AbortSignal) => Promise<T>): Promise<T> {
    return this.#locked([...this.target.feed.all], [], async (lost) => {
      for (const server of this.target.feed.all) await this.#prepare(server, next);
      this.target.feed.isList(next.id);
      return act(lost);
    });
  }

  /** Refuses databases that are part of the feed, and those that cannot be opened. */
  async open(): Promise<void> {
    const served = new Set(this.main.feed.all.map(({ name }) => name));
    for (const { name, store } of this.target.feed.all) {
      if (served.has(name)) throw inUse(name);
      try {
        await store.openNow();
      } catch (error) {
        if (error instanceof OperatorError) throw error;
        throw new FeedTargetError(
          `The database ${name} cannot be used: ${awayReason(error)}. Nothing was changed. Run the command again once it can.`,
        );
      }
    }
  }

  /**
   * Marks the databases of the list that was served as left. The main one was marked when the list changed.
   * @returns the names of those that cannot be marked, because they are away or take no writes
   */
  async markLeft(): Promise<readonly string[]> {
    const unmarked: string[] = [];
    for (const { name, store } of this.main.feed.others) {
      try {
        await store.query(
          `with marked as (update installation set feed_place = null, feed_list = '${LEFT_LIST}') select 1`,
        );
      } catch (error) {
        if (!isPostgresAway(error)) throw error;
        unmarked.push(name);
      }
    }
    return unmarked;
  }

  async #locked<T>(
    [server, ...more]: FeedServer[],
    held: AbortSignal[],
    act: (lost: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (server === undefined) return act(AbortSignal.any(held));
    // The command holds the lock of the main database.
    if (server.store === this.target) return this.#locked(more, held, act);
    const done = await server.store.exclusively(ADVISORY_LOCKS.feedMove, async (lost) => ({
      result: await this.#locked(more, [...held, lost], act),
    }));
    if (done === null) {
      throw new FeedTargetError(
        `The database ${server.name} is used by a move already: another one is under way, or it is listed under two names.`,
      );
    }
    return done.result;
  }

  async #prepare(server: FeedServer, next: NextList): Promise<void> {
    const { store, name, place } = server;
    const [main] = await this.main.query<TargetRow>('select * from installation');
    if (main === undefined) throw new FeedTargetError('The main database has no installation yet. Start the stages.');
    const [row] = await store.query<TargetRow>('select id, feed_place, feed_places, feed_list from installation');
    const places = this.target.feed.all.length;
    if (row === undefined) {
      const [event] = await store.query('select from org_heads limit 1');
      if (event !== undefined) {
        throw new FeedTargetError(
          `The database ${name} holds a feed of an unknown installation. Name an empty database.`,
        );
      }
      await giveInstallation(this.main, store, { place, places, list: next.id });
    } else if (row.id !== main.id) {
      throw new FeedTargetError(
        `The database ${name} belongs to installation ${row.id}, and not to ${main.id}. Name an empty database.`,
      );
    } else if (store !== this.target && row.feed_list === (this.main.feed.listId ?? null)) {
      throw inUse(name);
    }
    const isSame = row?.feed_list === next.id && (store === this.target || row.feed_place === place);
    if (!next.isResumed || !isSame) await new FeedMove(store).empty();
    // The main database keeps its place in the list that is served.
    const itsPlace = store === this.target ? '' : ', feed_place = $2, feed_places = $3';
    await store.query(`with placed as (update installation set feed_list = $1${itsPlace}) select 1`, [
      next.id,
      ...(store === this.target ? [] : [place, places]),
    ]);
    this.target.feed.joined(server);
  }
}

function inUse(name: string): FeedTargetError {
  return new FeedTargetError(
    `The database ${name} is part of the feed now. Name a database that is not: an empty one, on the same server if you like.`,
  );
}
