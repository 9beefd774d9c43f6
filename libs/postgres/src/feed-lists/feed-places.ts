import { randomUUID } from 'node:crypto';
import {
  InstallationMismatchError,
  judgeListedPlace,
  judgeMainPlace,
  MOVING,
  type FeedPlace,
  type FeedPlaceVerdict,
  type PlacedDatabase,
} from '#libs/domain';
import { ADVISORY_LOCKS } from '../connection/advisory-locks.js';
import type { FeedListId } from '../connection/feed-servers.js';
import { PLACE_SQL, type PlaceRow } from '../connection/place-row.js';
import type { FeedServer, Store } from '../connection/store.js';
import { LEFT_LIST } from './feed-lists.js';

interface FeedPart extends FeedPlace {
  readonly list: FeedListId;
}

/** Each database that shares the feed knows its part of it. So a list in another order or of another length is refused. */
export class FeedPlaces {
  /** That of the main database, once it was read. */
  #installation: string | null = null;

  /** @param store the main database, which has its installation */
  constructor(private readonly store: Store) {}

  /** The place that the settings give to the main database. */
  get ofMain(): FeedPlace {
    return { place: this.store.feed.mainPlace, places: this.store.feed.all.length };
  }

  /** Whether the main database belongs to an installation: the others get their places after that. */
  async isInstalled(): Promise<boolean> {
    return (await readPlace(this.store)) !== null;
  }

  /** @throws InstallationMismatchError when the settings give the main database another place than it has */
  async checkMain(): Promise<void> {
    const row = await readPlace(this.store);
    if (row !== null) throwIfRefused(judgeMainPlace({ place: row.feed_place, places: row.feed_places }, this.ofMain));
  }

  /**
   * Opens a database that shares the feed, and checks its place. A new database takes its place.
   * @param mayBegin whether it may take one: only once the main database is known to be the right one
   * @returns whether it has its place
   * @throws InstallationMismatchError, the error of its migrations, or that of a server that is away
   */
  async join(server: FeedServer, mayBegin = true): Promise<boolean> {
    const { store, place } = server;
    await store.openNow();
    // Another process may be giving it its place right now. A second look sees that.
    let { verdict, isNoted } = await this.#judge(server);
    if (verdict.kind === 'refuse') ({ verdict, isNoted } = await this.#judge(server));
    throwIfRefused(verdict);
    if (verdict.kind === 'begin') {
      if (!mayBegin) return false;
      await this.#give(server);
      throwIfRefused((await this.#judge(server)).verdict);
    }
    // Commands that only read do not have the right to note it.
    if (!isNoted) {
      await this.store.query(
        `with joined as (
           update installation set feed_joined = feed_joined || $1::int where not $1::int = any(feed_joined)
         ) select 1`,
        [place],
      );
    }
    server.store.belongsTo((await this.#ofInstallation()).id);
    this.store.feed.joined(server);
    return true;
  }

  /**
   * Checks what a database that has joined says about itself now: another one may be at its address. One that was opened
   * for a move is protected from then on.
   * @throws InstallationMismatchError
   */
  async checkJoined(server: FeedServer, found: PlaceRow | null): Promise<void> {
    const installation = (this.#installation ??= (await this.#ofInstallation()).id);
    throwIfRefused(this.#verdictOf(server, found, { installation, hasJoined: true }));
    server.store.belongsTo(installation);
  }

  /** Opens every other database. @throws like `join` */
  async joinAll(): Promise<void> {
    await this.checkMain();
    for (const server of this.store.feed.others) await this.join(server);
  }

  /**
   * Begins to give the databases new places: until `endMove`, no process starts. The databases must be open.
   * @returns the id that the list has from now on
   * @throws InstallationMismatchError if a database belongs to another installation
   */
  async beginMove(): Promise<string> {
    const main = await readPlace(this.store);
    if (main === null)
      throw new InstallationMismatchError('The main database has no installation yet. Start the stages.');
    for (const { store, name } of this.store.feed.others) {
      const row = await readPlace(store);
      if (row === null || row.id === main.id) continue;
      throw new InstallationMismatchError(
        `The database ${name} of PROJECTION_DATABASE_URLS belongs to installation ${row.id}, and not to ${main.id}.`,
      );
    }
    await this.#assertDistinct([{ name: 'of DATABASE_URL', store: this.store }, ...this.store.feed.others]);
    await this.#place(this.store, { ...MOVING, list: null }, []);
    // The list of the settings counts again. With an id of its own, an earlier one of the same length is refused.
    const list = randomUUID();
    await this.store.transaction(async (runner) => {
      await runner.query('delete from feed_list');
      await runner.query(`insert into feed_list (name, id) values ('feed', $1)`, [list]);
    });
    return list;
  }

  /** Gives each database its place. All have their part of the feed. @param list that of `beginMove` */
  async endMove(list: string): Promise<void> {
    const { others } = this.store.feed;
    for (const server of others) {
      await this.#give(server);
      await this.#place(server.store, { place: server.place, places: this.ofMain.places, list }, []);
    }
    await this.#place(
      this.store,
      { ...this.ofMain, list: this.ofMain.place === null ? LEFT_LIST : list },
      others.map(({ place }) => place),
    );
  }

  async #give({ store, place }: FeedServer): Promise<void> {
    const list = this.store.feed.listId ?? null;
    await giveInstallation(this.store, store, { place, places: this.ofMain.places, list });
  }

  async #place(store: Store, { place, places, list }: FeedPart, joined: readonly number[]): Promise<void> {
    await store.query(
      `with placed as (
         update installation set feed_place = $1, feed_places = $2, feed_joined = $3, feed_list = $4
       ) select 1`,
      [place, places, joined, list],
    );
  }

  async #judge(server: FeedServer) {
    // In this order: a database is noted after it got its place.
    const [{ id: installation, feed_joined }, found] = [await this.#ofInstallation(), await readPlace(server.store)];
    const isNoted = feed_joined.includes(server.place);
    return { verdict: this.#verdictOf(server, found, { installation, hasJoined: isNoted }), isNoted };
  }

  #verdictOf(
    { name, place }: FeedServer,
    found: PlaceRow | null,
    { installation, hasJoined }: { readonly installation: string; readonly hasJoined: boolean },
  ): FeedPlaceVerdict {
    const row: PlacedDatabase | null = found && {
      installation: found.id,
      place: found.feed_place,
      places: found.feed_places,
      list: found.feed_list,
    };
    const list = this.store.feed.listId ?? null;
    const expected = { installation, place, places: this.ofMain.places, list };
    return judgeListedPlace({ name, row, expected, hasJoined });
  }

  /** Returns the row of the main database. */
  async #ofInstallation(): Promise<PlaceRow> {
    const row = await readPlace(this.store);
    if (row === null) throw new Error('the main database has no installation yet');
    return row;
  }

  /** @throws InstallationMismatchError if two of them are one database: each can hold only one lock of this name */
  async #assertDistinct([server, ...more]: readonly Pick<FeedServer, 'name' | 'store'>[]): Promise<void> {
    if (server === undefined) return;
    const done = await server.store.exclusively(ADVISORY_LOCKS.feedMove, () =>
      this.#assertDistinct(more).then(() => true),
    );
    if (done !== null) return;
    throw new InstallationMismatchError(
      `The database ${server.name} is in PROJECTION_DATABASE_URLS under two names, or a move, rebuild or repair is under way.`,
    );
  }
}

/** Writes the installation of the main database into a new one, with its part of the feed. */
export async function giveInstallation(main: Store, store: Store, part: FeedPart): Promise<void> {
  const [row] = await main.query<{ row: object }>('select to_json(i) as row from installation i');
  const { place: feed_place, places: feed_places, list: feed_list } = part;
  await store.query(
    `with placed as (
       insert into installation
       select * from json_populate_record(null::installation, $1::json) on conflict do nothing
     ) select 1`,
    [JSON.stringify({ ...row?.row, feed_place, feed_places, feed_list, feed_joined: [] })],
  );
}

async function readPlace(store: Store): Promise<PlaceRow | null> {
  const [row] = await store.query<PlaceRow>(PLACE_SQL);
  return row ?? null;
}

function throwIfRefused(verdict: FeedPlaceVerdict): void {
  if (verdict.kind === 'refuse') throw new InstallationMismatchError(verdict.reason);
}
