import { SEQ_NONE, type OrgId } from '#libs/domain';
import { awayReason, FeedServerAwayError, isPostgresAway } from './postgres-away.js';

/** The part of a store that is needed here. */
interface AnyStore {
  prepared<Row>(name: string, sql: string, parameters: readonly unknown[]): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** A database that holds a part of the feed. */
export interface PlacedServer<Store extends AnyStore> {
  /** From 0. Partition p of the log is at place p modulo the number of places. */
  readonly place: number;
  /** `host:port/database`, without the account. */
  readonly name: string;
  readonly databaseUrl: string;
  readonly store: Store;
}

/** The databases that share the feed. Usually it is the main one alone. */
export class FeedServers<Store extends AnyStore> {
  /** The places of databases whose place was checked. */
  readonly #joined = new Set<number>();
  /** Why databases cannot be used now, by place. The main database is not in it: without it, nothing works. */
  readonly #away = new Map<number, string>();

  /** @param partitionOf the partition of the log that an org is in; needed if there are several databases */
  constructor(
    private readonly main: Store,
    readonly all: readonly PlacedServer<Store>[],
    private readonly partitionOf: (orgId: OrgId) => number,
  ) {
    for (const { place } of this.others) this.#away.set(place, 'not connected yet');
  }

  /** The databases besides the main one. */
  get others(): readonly PlacedServer<Store>[] {
    return this.all.filter(({ store }) => store !== this.main);
  }

  /** The databases that can be used now. */
  get reachable(): readonly PlacedServer<Store>[] {
    return this.#away.size === 0 ? this.all : this.all.filter(({ place }) => !this.#away.has(place));
  }

  /** The place of the main database; `null` if it holds no feed. */
  get mainPlace(): number | null {
    return this.all.find(({ store }) => store === this.main)?.place ?? null;
  }

  /** Returns the database with the feed of the org. @throws FeedServerAwayError */
  of(orgId: OrgId): Store {
    return this.all.length === 1 ? this.ofPartition(0) : this.ofPartition(this.partitionOf(orgId));
  }

  /** Returns the database with the feed of a partition of the log. @throws FeedServerAwayError */
  ofPartition(partition: number): Store {
    const server = this.#at(partition);
    const reason = this.#away.get(server.place);
    if (reason !== undefined) throw new FeedServerAwayError(server.name, reason);
    return server.store;
  }

  /** Returns the place of the database with the feed of the org. */
  placeOf(orgId: OrgId): number {
    return this.#ofOrg(orgId).place;
  }

  /** Whether the main database holds the feed of the org. */
  isInMain(orgId: OrgId): boolean {
    return this.#ofOrg(orgId).store === this.main;
  }

  /** Whether the database holds the feed of a partition of the log. */
  isAt(store: Store, partition: number): boolean {
    return this.#at(partition).store === store;
  }

  isAway(orgId: OrgId): boolean {
    return this.#away.has(this.#ofOrg(orgId).place);
  }

  isPartitionAway(partition: number): boolean {
    return this.#away.has(this.#at(partition).place);
  }

  /** Groups things by the database of their org. */
  group<T>(things: readonly T[], orgIdOf: (thing: T) => OrgId): ReadonlyMap<PlacedServer<Store>, readonly T[]> {
    const [only, ...more] = this.all;
    if (only !== undefined && more.length === 0) return new Map(things.length === 0 ? [] : [[only, things]]);
    const groups = new Map<PlacedServer<Store>, T[]>();
    for (const thing of things) {
      const server = this.#ofOrg(orgIdOf(thing));
      const group = groups.get(server);
      if (group === undefined) groups.set(server, [thing]);
      else group.push(thing);
    }
    return groups;
  }

  /** Calls `act` for the things of each database, at the same time. @throws FeedServerAwayError, or the first failure */
  async each<T, Result>(
    things: readonly T[],
    orgIdOf: (thing: T) => OrgId,
    act: (store: Store, things: readonly T[]) => Promise<Result>,
  ): Promise<readonly Result[]> {
    return Promise.all([...this.group(things, orgIdOf)].map(([{ place }, some]) => act(this.ofPartition(place), some)));
  }

  /** Like `each`, but leaves out the things of databases that are away. The main one must not be. */
  async eachReachable<T>(
    things: readonly T[],
    orgIdOf: (thing: T) => OrgId,
    act: (store: Store, things: readonly T[]) => Promise<void>,
  ): Promise<void> {
    await Promise.all(
      [...this.group(things, orgIdOf)].map(async ([server, some]) => {
        if (this.#away.has(server.place)) return;
        try {
          await act(server.store, some);
        } catch (error) {
          if (server.store === this.main || !isPostgresAway(error)) throw error;
          this.away(server, awayReason(error));
        }
      }),
    );
  }

  /**
   * Returns SQL for the last seq of the org in the feed, 0 without events: a subquery if the main database has it,
   * otherwise the number.
   */
  async headSql(orgId: OrgId): Promise<string> {
    if (this.isInMain(orgId)) return `coalesce((select last_seq from org_heads where org_id = '${orgId}'), 0)`;
    return this.head(orgId);
  }

  /** Returns the last seq of the org in the feed, 0 without events. */
  async head(orgId: OrgId): Promise<string> {
    const [row] = await this.of(orgId).prepared<{ last_seq: string }>(
      'head_of_org',
      'select last_seq from org_heads where org_id = $1',
      [orgId],
    );
    return row?.last_seq ?? String(SEQ_NONE);
  }

  /** Notes that the database was opened, and has the right place. It can be used. */
  joined({ place }: PlacedServer<Store>): void {
    this.#joined.add(place);
    this.#away.delete(place);
  }

  hasJoined({ place }: PlacedServer<Store>): boolean {
    return this.#joined.has(place);
  }

  /** Notes that the database cannot be used. */
  away({ place }: PlacedServer<Store>, reason: string): void {
    this.#away.set(place, reason);
  }

  /** Notes that the database can be used again. */
  back({ place }: PlacedServer<Store>): void {
    if (this.#joined.has(place)) this.#away.delete(place);
  }

  async close(): Promise<void> {
    await Promise.all(this.others.map(({ store }) => store.close()));
  }

  #ofOrg(orgId: OrgId): PlacedServer<Store> {
    return this.#at(this.all.length === 1 ? 0 : this.partitionOf(orgId));
  }

  #at(partition: number): PlacedServer<Store> {
    const server = this.all[partition % this.all.length];
    if (server === undefined) throw new Error(`no database has the feed of partition ${partition}`);
    return server;
  }
}
