import { randomUUID } from 'node:crypto';
import { InstallationMismatchError } from '#libs/domain';
import { databaseName } from '#libs/runtime';
import type { SecretCipher } from '../access/secret-cipher.js';
import type { FeedListId } from '../connection/feed-servers.js';
import type { FeedServer, Store } from '../connection/store.js';

/** Longer than any process takes to see that a move has begun, and to open the new databases. */
const ANNOUNCED_FOR = '10 s';
/** Longer than what a process saw holds. One that has not looked for so long looks before it uses the feed. */
const SILENT_AFTER_MS = 10_000;
/** How long the feed may be closed while it moves. After that, processes go on with the list that they have. */
const CLOSED_FOR = '1800 ms';
/** The commit of the change takes less. */
const COMMIT_WITHIN = '500 ms';

/** Belongs to no list: a database that the feed has left. */
export const LEFT_LIST = '00000000-0000-0000-0000-000000000000';

/** What a process sees when it looks at the list. */
export interface FeedListLook {
  readonly id: FeedListId;
  readonly next_id: string | null;
  /** Whether a move is under way. */
  readonly is_announced: boolean;
  /** Whether nothing may use the feed right now. */
  readonly is_closed: boolean;
}

/** Returns one `FeedListLook`; no row if the feed has never moved. */
export const LOOK_AT_FEED_LIST = `
  select id, next_id, announced_until > clock_timestamp() as is_announced, closed_until > clock_timestamp() as is_closed
  from feed_list`;

/** The name of the connections that look. Once a process has opened the databases of the next list, its id follows. */
export const LOOKS_AT_FEED_LIST = 'gapless-feed-list';

interface FeedListRow {
  readonly id: FeedListId;
  /** None: those of the settings. */
  readonly names: readonly string[];
  readonly left_lists: readonly string[];
  readonly next_names: readonly string[];
}

/** The list of databases that holds the feed, in the main database. */
export class FeedLists {
  /** @param store the main database */
  constructor(private readonly store: Store) {}

  /** Returns the id of the list that is served. */
  async servedId(): Promise<FeedListId> {
    return (await this.#read())?.id ?? null;
  }

  /** Returns the names of the databases that the feed left last; none if it has never moved while processes ran. */
  async leftLast(): Promise<readonly string[]> {
    return (await this.#read())?.left_lists.at(-1)?.split(',') ?? [];
  }

  /**
   * Makes the store use the list that is served. After a move, the settings may still name a list that the feed has
   * left: the new one counts. If they name the new one, their accounts and passwords count.
   * @param settings the databases of the settings
   * @param cipher called only if the list in the database is needed
   * @returns whether the settings name another list
   * @throws InstallationMismatchError if the settings name a list that the feed never had, or has not moved to yet
   */
  async adopt(settings: readonly string[], cipher: () => Promise<SecretCipher>): Promise<boolean> {
    const { feed, databaseUrl } = this.store;
    const row = await this.#read();
    const named = namesOf(settings.length === 0 ? [databaseUrl] : settings).join();
    if (row === null || row.id === null || row.names.length === 0) {
      if (row?.next_names.join() === named) {
        throw new InstallationMismatchError(
          `PROJECTION_DATABASE_URLS names ${named}, but the feed has not moved there yet.\n` +
            'Set PROJECTION_DATABASE_URLS to the list that it is in, until "gapless rebuild --to-file <file>" has moved it.',
        );
      }
      feed.isList(row?.id ?? null);
      return false;
    }
    if (named === row.names.join()) {
      if (feed.all.map(({ name }) => name).join() === named) feed.isList(row.id);
      else feed.use(row.id, this.store.feedServersOf(settings));
      return false;
    }
    if (!row.left_lists.includes(named)) {
      throw new InstallationMismatchError(
        `PROJECTION_DATABASE_URLS names ${named}, but the feed of this installation is in ${row.names.join()}.\n` +
          'Set PROJECTION_DATABASE_URLS to that list. To move the feed, run "gapless rebuild --to-file <file>".',
      );
    }
    if (feed.listId === row.id) return true;
    const servers = await this.serversOf(row.id, await cipher());
    if (servers === undefined) throw new Error('the list of databases has just changed');
    feed.use(row.id, servers);
    return true;
  }

  /**
   * Returns the databases of the list with that id, not yet open; `undefined` if it is neither the served nor the next,
   * or only the settings name them.
   */
  async serversOf(id: string, cipher: SecretCipher): Promise<readonly FeedServer[] | undefined> {
    const [row] = await this.store.query<{ urls: Buffer | null }>(
      `select case when id = $1 then urls_ciphertext else next_urls_ciphertext end as urls
       from feed_list where $1::uuid in (id, next_id)`,
      [id],
    );
    if (row === undefined || row.urls === null) return undefined;
    return this.store.feedServersOf(JSON.parse(cipher.decrypt(row.urls)) as string[]);
  }

  /** Notes the list that the feed is to move to. If it is that of an interrupted move, that one goes on. */
  async begin(
    urls: readonly string[],
    cipher: SecretCipher,
  ): Promise<{ readonly id: string; readonly isResumed: boolean }> {
    const id = randomUUID();
    const [row] = await this.store.query<{ next_id: string }>(
      `with noted as (
         insert into feed_list as list (next_id, next_names, next_urls_ciphertext) values ($1, $2, $3)
         on conflict (name) do update set
           next_id = case when list.next_names = $2 then coalesce(list.next_id, $1) else $1 end,
           next_names = $2, next_urls_ciphertext = $3
         returning next_id
       ) select next_id from noted`,
      [id, namesOf(urls), cipher.encrypt(JSON.stringify(urls))],
    );
    if (row === undefined) throw new Error('the move was not noted');
    return { id: row.next_id, isResumed: row.next_id !== id };
  }

  /**
   * Lets processes know that the feed is about to move.
   * @returns whether they knew all the time since the last call; `undefined` if it is not to move to that list any more
   */
  async announce(id: string): Promise<boolean | undefined> {
    const [row] = await this.store.query<{ was_announced: boolean }>(
      `with before as (
         select announced_until > clock_timestamp() as was from feed_list where next_id = $1 for update
       ), announced as (
         update feed_list set announced_until = clock_timestamp() + interval '${ANNOUNCED_FOR}' where next_id = $1
       )
       select was as was_announced from before`,
      [id],
    );
    return row?.was_announced;
  }

  /** Ends the announcement. */
  async withdraw(): Promise<void> {
    await this.store.query(
      `with withdrawn as (update feed_list set announced_until = '-infinity', closed_until = '-infinity') select 1`,
    );
  }

  /**
   * Returns how many processes have opened the databases of the list, and which have not, by their address. It leaves out
   * those that do not look any more: a process that died may have left its connection.
   */
  async readiness(
    id: string,
    silentAfterMs = SILENT_AFTER_MS,
  ): Promise<{ readonly ready: number; readonly missing: readonly string[] }> {
    // An account that may not see when a connection was used waits for all of them.
    const rows = await this.store.query<{ address: string; is_ready: boolean }>(
      `select coalesce(host(client_addr) || ':' || client_port, 'local') as address, application_name = $1 as is_ready
       from pg_stat_activity where datname = current_database() and starts_with(application_name, $2)
         and (application_name = $1 or (state_change < clock_timestamp() - $3 * interval '1 ms') is not true)`,
      [`${LOOKS_AT_FEED_LIST} ${id}`, LOOKS_AT_FEED_LIST, silentAfterMs],
    );
    const missing = rows.filter(({ is_ready }) => !is_ready).map(({ address }) => address);
    return { ready: rows.length - missing.length, missing };
  }

  /** Returns the connections of all processes that run, also of one that is frozen. */
  async connections(): Promise<readonly string[]> {
    const rows = await this.store.query<{ name: string }>(
      `select concat('connection ', pid, ' from ' || host(client_addr) || ':' || client_port) as name
       from pg_stat_activity where datname = current_database() and starts_with(application_name, $1)`,
      [LOOKS_AT_FEED_LIST],
    );
    return rows.map(({ name }) => name);
  }

  /** Closes the feed for a moment. @returns whether the move is still announced */
  async close(id: string): Promise<boolean> {
    const rows = await this.store.query(
      `with closed as (
         update feed_list set closed_until = clock_timestamp() + interval '${CLOSED_FOR}'
         where next_id = $1 and announced_until > clock_timestamp() returning 1
       ) select from closed`,
      [id],
    );
    return rows.length > 0;
  }

  /** Opens the feed again, with the list that was served before. */
  async open(id: string): Promise<void> {
    await this.store.query(
      `with opened as (update feed_list set closed_until = '-infinity' where next_id = $1) select 1`,
      [id],
    );
  }

  /**
   * Makes the next list the served one, in one transaction with the place of the main database.
   * @param mainPlace that of the main database in the next list; `null` if it is not in it
   * @returns whether it did: not once the feed is no longer closed
   */
  async change(id: string, mainPlace: number | null, places: number): Promise<boolean> {
    const leaves = this.store.feed.all.map(({ name }) => name).join();
    return this.store.transaction(async (runner) => {
      await runner.query(`set local lock_timeout = '${COMMIT_WITHIN}'`);
      const changed = (await runner.query(
        `with changed as (
           update feed_list set id = next_id, names = next_names, urls_ciphertext = next_urls_ciphertext,
             left_lists = array_append(array_remove(left_lists, array_to_string(next_names, ',')), $2),
             next_id = null, next_names = '{}', next_urls_ciphertext = null, closed_until = '-infinity'
           where next_id = $1 and closed_until > clock_timestamp() + interval '${COMMIT_WITHIN}'
           returning 1
         ) select from changed`,
        [id, leaves],
      )) as unknown[];
      if (changed.length === 0) return false;
      const others = Array.from({ length: places }, (_, place) => place).filter((place) => place !== mainPlace);
      await runner.query(
        'update installation set feed_place = $1, feed_places = $2, feed_joined = $3::int[], feed_list = $4',
        [mainPlace, places, others, mainPlace === null ? LEFT_LIST : id],
      );
      return true;
    });
  }

  async #read(): Promise<FeedListRow | null> {
    const [row] = await this.store.query<FeedListRow>('select id, names, left_lists, next_names from feed_list');
    return row ?? null;
  }
}

function namesOf(urls: readonly string[]): readonly string[] {
  return urls.map(databaseName);
}
