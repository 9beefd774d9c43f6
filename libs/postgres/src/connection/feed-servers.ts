import { setTimeout as delay } from 'node:timers/promises';
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
  readonly store: Store;
}

/** The id of a list of databases; `null` is the list of the settings of a feed that has never moved. */
export type FeedListId = string | null;

/** Longer than the feed is closed when it moves, milliseconds. */
const PATIENCE_MS = 5_000;
const LOOK_EVERY_MS = 20;
/** Longer than a query takes. After that, the databases of an earlier list are disconnected. */
const RETIRE_AFTER_MS = 15_000;

/** The databases that share the feed. Usually it is the main one alone. */
export class FeedServers<Store extends AnyStore> {
  #all: readonly PlacedServer<Store>[];
  /** The list that they are; `undefined` if nobody asked. */
  #listId: FeedListId | undefined;
  /** The places of databases whose place was checked. */
  readonly #joined = new Set<number>();
  /** Why databases cannot be used now, by place. The main database is not in it: without it, nothing works. */
  readonly #away = new Map<number, string>();
  readonly #listeners = new Set<() => void>();
  /** Databases of earlier lists that are still connected. */
  readonly #retired = new Map<PlacedServer<Store>, NodeJS.Timeout>();
  /** Until when the list holds, as far as this process knows. */
  #lease = { untilMs: Infinity, isClosed: false };
  #renew: () => Promise<void> = () => Promise.resolve();

  /** @param partitionOf the partition of the log that an org is in; needed if there are several databases */
  constructor(
    private readonly main: Store,
    all: readonly PlacedServer<Store>[],
    private readonly partitionOf: (orgId: OrgId) => number,
  ) {
    this.#all = all;
    this.#expectAll();
  }

  /** The databases, by place. */
  get all(): readonly PlacedServer<Store>[] {
    return this.#all;
  }

  /** The list that they are; `undefined` if nobody asked the main database. */
  get listId(): FeedListId | undefined {
    return this.#listId;
  }

  /**
   * Uses another list from now on.
   * @param areJoined whether the databases are open, and their places known to be right
   */
  use(listId: FeedListId, all: readonly PlacedServer<Store>[], areJoined = false): void {
    for (const server of this.others) this.#retire(server);
    [this.#listId, this.#all] = [listId, all];
    this.#joined.clear();
    this.#away.clear();
    if (areJoined) for (const server of this.others) this.joined(server);
    else this.#expectAll();
    for (const onChange of this.#listeners) onChange();
  }

  /** Notes which list the databases are. */
  isList(listId: FeedListId): void {
    this.#listId = listId;
  }

  /** Calls `onChange` after each change of the list. */
  onChange(onChange: () => void): void {
    this.#listeners.add(onChange);
  }

  /** From now on, the list holds only as long as `lookedAt` says. @param renew looks at once, and calls `lookedAt` */
  leaseBy(renew: () => Promise<void>): void {
    this.#renew = renew;
  }

  /** @param untilMs until when the list holds, by `performance.now()`; nothing uses a list that is closed */
  lookedAt(untilMs: number, isClosed: boolean): void {
    this.#lease = { untilMs, isClosed };
  }

  /**
   * Waits while the feed moves to another list, which takes about a second. A process that was frozen looks which list
   * holds before it goes on. @throws FeedServerAwayError if it takes longer; the error of a main database that is away
   */
  async settled(): Promise<void> {
    for (let waitedMs = 0; !this.#holds; waitedMs += LOOK_EVERY_MS) {
      if (waitedMs >= PATIENCE_MS) throw new FeedServerAwayError(this.#names, 'the feed is moving to other databases');
      if (this.#lease.isClosed) await delay(LOOK_EVERY_MS);
      else await this.#renew();
    }
  }

  get #holds(): boolean {
    return !this.#lease.isClosed && performance.now() < this.#lease.untilMs;
  }

  get #names(): string {
    return this.#all.map(({ name }) => name).join();
  }

  #expectAll(): void {
    for (const { place } of this.others) this.#away.set(place, 'not connected yet');
  }

  #retire(server: PlacedServer<Store>): void {
    const close = () => {
      this.#retired.delete(server);
      void server.store.close();
    };
    this.#retired.set(server, setTimeout(close, RETIRE_AFTER_MS).unref());
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

  /** Returns the database with the feed of the org. Waits while the feed moves. @throws FeedServerAwayError */
  async of(orgId: OrgId): Promise<Store> {
    await this.settled();
    return this.ofPartition(this.all.length === 1 ? 0 : this.partitionOf(orgId));
  }

  /** Returns the database with the feed of a partition of the log. Await `settled` first. @throws FeedServerAwayError */
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

  /** Groups partitions of the log by the database with their feed. */
  groupPartitions(partitions: readonly number[]): readonly (readonly number[])[] {
    const groups = this.all.map(({ store }) => partitions.filter((partition) => this.isAt(store, partition)));
    return groups.filter((group) => group.length > 0);
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
    await this.settled();
    return Promise.all([...this.group(things, orgIdOf)].map(([{ place }, some]) => act(this.ofPartition(place), some)));
  }

  /** Like `each`, but leaves out the things of databases that are away. The main one must not be. */
  async eachReachable<T>(
    things: readonly T[],
    orgIdOf: (thing: T) => OrgId,
    act: (store: Store, things: readonly T[]) => Promise<void>,
  ): Promise<void> {
    await this.settled();
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
    await this.settled();
    if (this.isInMain(orgId)) return `coalesce((select last_seq from org_heads where org_id = '${orgId}'), 0)`;
    return this.head(orgId);
  }

  /** Returns the last seq of the org in the feed, 0 without events. */
  async head(orgId: OrgId): Promise<string> {
    const feed = await this.of(orgId);
    const [row] = await feed.prepared<{ last_seq: string }>(
      'head_of_org',
      'select last_seq from org_heads where org_id = $1',
      [orgId],
    );
    return row?.last_seq ?? String(SEQ_NONE);
  }

  /** Notes that the database was opened, and has the right place. It can be used. One of an earlier list is ignored. */
  joined(server: PlacedServer<Store>): void {
    if (!this.#has(server)) return;
    this.#joined.add(server.place);
    this.#away.delete(server.place);
  }

  hasJoined(server: PlacedServer<Store>): boolean {
    return this.#has(server) && this.#joined.has(server.place);
  }

  /** Notes that the database cannot be used. One of an earlier list is ignored. */
  away(server: PlacedServer<Store>, reason: string): void {
    if (this.#has(server)) this.#away.set(server.place, reason);
  }

  /** Notes that the database can be used again. */
  back(server: PlacedServer<Store>): void {
    if (this.hasJoined(server)) this.#away.delete(server.place);
  }

  async close(): Promise<void> {
    const retired = [...this.#retired];
    for (const [server, timer] of retired) {
      clearTimeout(timer);
      this.#retired.delete(server);
    }
    await Promise.all([...this.others, ...retired.map(([server]) => server)].map(({ store }) => store.close()));
  }

  /** Whether the feed is in the database now. It may have moved while somebody waited for an answer. */
  #has(server: PlacedServer<Store>): boolean {
    return this.#all.includes(server);
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
