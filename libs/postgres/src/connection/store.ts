import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, Pool, PoolClient, QueryResultRow } from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { OperatorError, type OrgId } from '#libs/domain';
import { databaseName, untilItWorks, type Logger } from '#libs/runtime';
import { ApiKeyEntity } from '../entities/api-key.entity.js';
import { EndpointEntity } from '../entities/endpoint.entity.js';
import { MIGRATIONS } from '../migrations/index.js';
import { ADVISORY_LOCKS } from './advisory-locks.js';
import { withArrayText } from './array-text.js';
import { FeedServers, type PlacedServer } from './feed-servers.js';
import {
  awayReason,
  commitError,
  isNotLetIn,
  isPostgresAway,
  isTableMissing,
  OtherDatabaseError,
  StoreNotOpenError,
} from './postgres-away.js';
import { KEEP_ALIVE } from './keep-alive.js';
import { withLock, type LockWatch } from './locks/held-lock.js';
import { ReadReplicas, REPLICA_READ_MS, type ReadReplicasOptions } from './replicas/read-replicas.js';
import { refuseUnfit } from './opening/refuse-unfit.js';
import { SQL_STATES, sqlStateOf } from './sql-states.js';
import { makeTenantLogin, openAsTenant, tenantUrl } from './tenant/tenant-login.js';
import { TenantShares } from './tenant/tenant-shares.js';

const POOL_SIZE = 20;
/** The number of these connections that serve the queries of requests, in a process that serves requests. */
const TENANT_POOL_SIZE = 12;
/** The number of the other connections that `transactionOf` uses. The rest stays for what every request needs. */
const MAIN_SHARE = (POOL_SIZE - TENANT_POOL_SIZE) / 2;

/** Milliseconds. A server that takes longer counts as down: callers get an error, and stages retry. */
const QUERY_TIMEOUT_MS = 10_000;

/** How long an abandoned statement may run on, milliseconds. It holds its locks, and its repetition waits for them. */
const ABANDONED_FOR_MS = 2_000;

/** How long a process waits for the migration of another one before it reports it. Most find nothing to do. */
const MIGRATION_PATIENCE_MS = 2_000;
const MIGRATION_LOOK_MS = 100;

/**
 * What the statements and the driver rely on. Settings of the database or the account do not count. They are set after
 * connecting, since a pooler such as PgBouncer refuses or drops the settings of a start-up packet.
 */
const SESSION = [
  // Every query of a stage has an index with the right order. Plans are kept as long as their connection. A plan made
  // while a table was small would still scan or sort it when it is large.
  'set enable_seqscan = off; set enable_bitmapscan = off',
  // Without sequential scans, some plans seem so costly that Postgres would compile them for longer than they run.
  'set jit = off',
  // In other zones, a day may have 23 or 25 hours.
  `set timezone = 'UTC'`,
  'set row_security = on; set DateStyle = iso; set standard_conforming_strings = on; set default_transaction_isolation = "read committed"',
  'set lock_timeout = 0; set statement_timeout = 0',
  // Postgres 16 does not have it.
  `select set_config('transaction_timeout', '0', false) where current_setting('transaction_timeout', true) is not null`,
].join('; ');

/**
 * Whether there is a table of migrations. The first migrations make it before they let `gapless_writer` read it, so until
 * then it does not count for an account in that role.
 */
const MIGRATIONS_READY_SQL = `
  select t is not null and (has_table_privilege(t, 'select') or not exists (
    select from pg_roles where rolname = 'gapless_writer' and pg_has_role(oid, 'member'))) as is_ready
  from to_regclass('migrations') t`;

/** Starts a transaction for one org in one round trip. An OrgId is a UUID, so it is safe in the text. */
function asTenant(orgId: OrgId, becomes: string): string {
  return `begin; ${becomes}set local gapless.org_id = '${orgId}'`;
}

/**
 * Returns the address of another database with the same account for requests. `null` and `off` are the same for all.
 */
function withLoginOf(tenantDatabaseUrl: string | null, databaseUrl: string): string | null {
  if (tenantDatabaseUrl === null || tenantDatabaseUrl === 'off') return tenantDatabaseUrl;
  const [login, url] = [new URL(tenantDatabaseUrl), new URL(databaseUrl)];
  // As parameters, as in `tenantUrl`. They are decoded, unlike the account in the address.
  url.searchParams.set('user', login.searchParams.get('user') ?? decodeURIComponent(login.username));
  url.searchParams.set('password', login.searchParams.get('password') ?? decodeURIComponent(login.password));
  return url.href;
}

/** Returns the installation of the database; `null` if it has none. */
async function installationOf(client: Client): Promise<string | null> {
  try {
    const { rows } = await client.query<{ id: string }>('select id from installation');
    return rows[0]?.id ?? null;
  } catch (error) {
    // A database without our tables.
    if (isTableMissing(error)) return null;
    throw error;
  }
}

/** @throws StoreNotOpenError before the first connection, because requests can arrive earlier */
function poolOf(dataSource: DataSource): Pool {
  const pool = (dataSource.driver as PostgresDriver).master as Pool | undefined;
  if (pool === undefined) throw new StoreNotOpenError();
  return pool;
}

/** Whether a lock could not be taken within the `lock_timeout`. */
export function isLockNotAvailable(error: unknown): boolean {
  return sqlStateOf(error) === SQL_STATES.lockNotAvailable;
}

/** SQLSTATEs of a migration that another session blocks: no lock in time, a deadlock, a conflict. */
const IN_THE_WAY: ReadonlySet<string> = new Set([
  SQL_STATES.lockNotAvailable,
  SQL_STATES.deadlockDetected,
  SQL_STATES.serializationFailure,
]);

/** Whether a failed migration may succeed a moment later. */
export function isPassingInAMoment(error: unknown): boolean {
  if (isNotLetIn(error)) return false;
  if (isPostgresAway(error) || error instanceof SchemaBehindError || error instanceof MigrationUnderWayError)
    return true;
  return IN_THE_WAY.has(sqlStateOf(error));
}

export interface StoreOptions {
  readonly databaseUrl: string;
  readonly applicationName: string;
  readonly logger: Logger;
  /** Whether opening migrates the schema; if not, it waits until another process has. */
  readonly migratesWhenOpened: boolean;
  /** Milliseconds, default 10 s. Commands that read everything allow more. */
  readonly queryTimeoutMs?: number;
  /**
   * The connection for the queries of requests, as an account that sees one org at a time. Default `null`: use the
   * account that migrations made. `off`: use the stages' account, which becomes `gapless_tenant` for the transaction.
   */
  readonly tenantDatabaseUrl?: string | null;
  /** Whether the process serves requests (default: no). If so, opening checks the account for their queries. */
  readonly servesRequests?: boolean;
  /** The databases that share the feed. Default: this one holds all of it. */
  readonly feed?: FeedSpread;
  /** The standbys that pages of the feed may be read from. Default: none. */
  readonly replicas?: ReplicaOptions;
  /** An existing schema that precedes `public` in the search path, and is migrated instead of it. */
  readonly shadowSchema?: string;
  /** Once it is aborted, the store begins nothing any more. */
  readonly signal?: AbortSignal;
}

/** How the feed is spread over databases. */
export interface FeedSpread {
  /** Partition p of the log is in the database p modulo their number. Without any, all of it is in the main database. */
  readonly databaseUrls: readonly string[];
  readonly partitionOf: (orgId: OrgId) => number;
}

/** The standbys that pages of the feed may be read from. */
export interface ReplicaOptions extends ReadReplicasOptions {
  readonly databaseUrls: readonly string[];
}

const ALL_IN_ONE: FeedSpread = { databaseUrls: [], partitionOf: () => 0 };

const NO_REPLICAS: ReplicaOptions = {
  databaseUrls: [],
  maxLagMs: 0,
  onRead: () => undefined,
  onFailure: () => undefined,
};

/** The schema is older than this code, and another process has to migrate it. */
export class SchemaBehindError extends OperatorError {
  override readonly name = 'SchemaBehindError';
  constructor(name: string, pending: readonly string[]) {
    super(`the schema of ${name} lacks ${pending.join(', ')}: run gapless migrate`);
  }
}

/** Another process migrates the schema. */
export class MigrationUnderWayError extends OperatorError {
  override readonly name = 'MigrationUnderWayError';
  constructor(name: string) {
    super(`another process is migrating the schema of ${name}: wait until it has ended`);
  }
}

/** A database that holds a part of the feed. */
export type FeedServer = PlacedServer<Store>;

/** A process' connection to Postgres. */
export class Store {
  readonly dataSource: DataSource;
  /** The databases that hold the feed. */
  readonly feed: FeedServers<Store>;
  /** The standbys that pages of the feed may be read from. */
  readonly replicas: ReadReplicas<Store>;
  readonly #settings: PostgresDataSourceOptions;
  readonly #logger: Logger;
  readonly #migratesWhenOpened: boolean;
  readonly #options: StoreOptions;
  readonly #pooled: Partial<PostgresDataSourceOptions>;
  readonly #shares = new TenantShares(TENANT_POOL_SIZE);
  readonly #mainShares = new TenantShares(MAIN_SHARE);
  #tenants: Promise<DataSource> | null = null;
  #tenantPool: Pool | null = null;
  #installation: string | null = null;
  /** The connections whose plans are the same whatever the parameters are. */
  readonly #generic = new WeakSet<object>();

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#logger = options.logger;
    this.#migratesWhenOpened = options.migratesWhenOpened;
    const schemas = [...(options.shadowSchema === undefined ? [] : [options.shadowSchema]), 'public'];
    const session = `${SESSION}; set search_path = ${schemas.join(', ')}`;
    const queryTimeoutMs = options.queryTimeoutMs ?? QUERY_TIMEOUT_MS;
    this.#settings = {
      type: 'postgres',
      url: options.databaseUrl,
      applicationName: options.applicationName,
      entities: [EndpointEntity, ApiKeyEntity],
      migrations: MIGRATIONS,
      migrationsTransactionMode: 'each',
      synchronize: false,
      connectTimeoutMS: 3_000,
      ...(options.shadowSchema === undefined ? {} : { schema: options.shadowSchema }),
      extra: { ...KEEP_ALIVE, onConnect: (client: Client) => client.query(session) },
      poolErrorHandler: (error: Error) => {
        this.#logger.warn({ reason: error.message }, 'postgres.connection_lost');
      },
    };
    const onConnect = (client: Client) =>
      client.query(`${session}; set statement_timeout = ${queryTimeoutMs + ABANDONED_FOR_MS}`);
    this.#pooled = {
      ...this.#settings,
      extra: { ...KEEP_ALIVE, onConnect, query_timeout: queryTimeoutMs },
    };
    const hasTenantPool = options.servesRequests === true && options.tenantDatabaseUrl !== 'off';
    this.dataSource = new DataSource({
      ...this.#settings,
      ...this.#pooled,
      extra: {
        ...(this.#pooled.extra as object),
        // The account of requests may not read it.
        onConnect: async (client: Client) => {
          await onConnect(client);
          await this.#refuseOther(client);
        },
      },
      poolSize: hasTenantPool ? POOL_SIZE - TENANT_POOL_SIZE : POOL_SIZE,
    });
    this.feed = this.#feedServers();
    this.replicas = this.#readReplicas();
  }

  #feedServers(): FeedServers<Store> {
    const { databaseUrls, partitionOf } = this.#options.feed ?? ALL_IN_ONE;
    return new FeedServers(this, this.feedServersOf(databaseUrls), partitionOf);
  }

  /** Makes the databases of a list, without opening them. @param databaseUrls none: the main database alone */
  feedServersOf(databaseUrls: readonly string[]): readonly FeedServer[] {
    const main = databaseName(this.databaseUrl);
    const urls = databaseUrls.length === 0 ? [this.databaseUrl] : databaseUrls;
    return urls.map((url, place) => {
      const name = databaseName(url);
      return { place, name, store: name === main ? this : this.#another(url) };
    });
  }

  #readReplicas(): ReadReplicas<Store> {
    const { replicas = NO_REPLICAS } = this.#options;
    const all = replicas.databaseUrls.map((databaseUrl) => {
      const store = this.#another(databaseUrl, { migratesWhenOpened: false, queryTimeoutMs: REPLICA_READ_MS });
      return { name: databaseName(databaseUrl), store };
    });
    return new ReadReplicas(all, replicas);
  }

  /** Makes the store of another database. */
  #another(databaseUrl: string, changes: Partial<StoreOptions> = {}): Store {
    const tenantDatabaseUrl = withLoginOf(this.#options.tenantDatabaseUrl ?? null, databaseUrl);
    const alone = { feed: ALL_IN_ONE, replicas: NO_REPLICAS };
    return new Store({ ...this.#options, ...alone, databaseUrl, tenantDatabaseUrl, ...changes });
  }

  /**
   * Notes the installation of the database. Later connections are refused if another database is at the address by
   * then. Without the positions of this one, the stages would write to it.
   */
  belongsTo(installation: string): void {
    this.#installation = installation;
  }

  /** The installation of the database; `null` until it was noted. */
  get installation(): string | null {
    return this.#installation;
  }

  async #refuseOther(client: Client): Promise<void> {
    if (this.#installation === null) return;
    const found = await installationOf(client);
    if (found !== this.#installation) throw new OtherDatabaseError(found, this.#installation);
  }

  /** Its url, with the account. */
  get databaseUrl(): string {
    return this.#options.databaseUrl;
  }

  /** Waits with back-off until Postgres answers and its schema is up to date, and reports what it waits for. */
  async open(onWait: (reason: string) => void, signal?: AbortSignal): Promise<void> {
    await untilItWorks(() => this.openNow(), {
      ...(signal === undefined ? {} : { signal }),
      onFailure: (error, failures, waitMs) => {
        if (!isPassingInAMoment(error)) throw error;
        const reason = awayReason(error);
        onWait(reason);
        this.#logger.warn({ reason, failures, wait_ms: waitMs }, 'postgres.waiting');
      },
    });
  }

  /** Whether the error means that requests cannot be answered at the moment, and may be repeated. */
  isUnavailable(error: unknown): boolean {
    return isPostgresAway(error) || isTableMissing(error) || !this.dataSource.isInitialized;
  }

  /** Opens the store without waiting. @throws if Postgres is away, or its schema behind; you can call it again */
  async openNow(): Promise<void> {
    await this.#bringUpToDate();
    if (!this.dataSource.isInitialized) await this.dataSource.initialize();
    if (this.#options.servesRequests === true) await this.#forTenants();
  }

  /** The number of connections by state, and of queries that wait for one. */
  get connections(): { readonly busy: number; readonly idle: number; readonly waiting: number } {
    const stores = this.#stores;
    const pools = stores.flatMap((store) => store.#pools);
    const sum = (of: (pool: Pool) => number) => pools.reduce((total, pool) => total + of(pool), 0);
    const idle = sum(({ idleCount }) => idleCount);
    const waiting = stores.reduce((total, store) => total + store.#shares.waiting + store.#mainShares.waiting, 0);
    return {
      busy: sum(({ totalCount }) => totalCount) - idle,
      idle,
      waiting: waiting + sum(({ waitingCount }) => waitingCount),
    };
  }

  /** Itself, the other databases that share the feed, and replicas. */
  get #stores(): readonly Store[] {
    return [this, ...[...this.feed.others, ...this.replicas.all].flatMap(({ store }) => store.#stores)];
  }

  get #pools(): readonly Pool[] {
    if (!this.isOpen) return [];
    return this.#tenantPool === null ? [this.#pool] : [this.#pool, this.#tenantPool];
  }

  /** Whether the store is open for queries. */
  get isOpen(): boolean {
    return this.dataSource.isInitialized;
  }

  /** Closes the store, those of the other databases that share the feed, and those of replicas. */
  async close(): Promise<void> {
    await Promise.all([this.feed.close(), this.replicas.close()]);
    const tenants = await this.#tenants?.catch(() => null);
    if (tenants?.isInitialized === true) await tenants.destroy();
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }

  /** Runs a query over all orgs, as the owner of the tables. For the stages. */
  async query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    return this.#onConnection(
      this.dataSource,
      (runner) => runner.query(sql, withArrayText(parameters)) as Promise<Row[]>,
    );
  }

  /**
   * Runs a statement over all orgs, as a transaction of its own. Each connection plans it once, whatever its parameters
   * are, so use it for frequent statements: planning them takes half of their time, with a month of days.
   * @param name unique for each text
   */
  async prepared<Row>(name: string, sql: string, parameters: readonly unknown[]): Promise<readonly Row[]> {
    return this.#onPooled(this.#pool, async (client) => {
      if (!this.#generic.has(client)) {
        await client.query('set plan_cache_mode = force_generic_plan');
        this.#generic.add(client);
      }
      const { rows } = await client.query<Row & QueryResultRow>({ name, text: sql, values: withArrayText(parameters) });
      return rows;
    });
  }

  /**
   * Reads rows of this org alone, enforced by row-level security. Each connection plans the statement once, whatever
   * its parameters are.
   * @param name unique for each text
   * @param settings SQL with settings of the transaction, the same for each name
   */
  async preparedForOrg<Row>(
    orgId: OrgId,
    name: string,
    sql: string,
    parameters: readonly unknown[],
    settings = '',
  ): Promise<readonly Row[]> {
    const pool = poolOf(await this.#forTenants());
    const read = async (client: PoolClient, discard: () => void) => {
      try {
        await client.query(`${this.#asTenant(orgId)}; set local plan_cache_mode = force_generic_plan; ${settings}`);
        const { rows } = await client.query<Row & QueryResultRow>({
          name,
          text: sql,
          values: withArrayText(parameters),
        });
        await client.query('commit');
        return rows;
      } catch (error) {
        // A server that does not answer would keep the connection for as long again.
        if (!isPostgresAway(error)) await client.query('rollback').catch(discard);
        throw error;
      }
    };
    return this.#shares.of(orgId, () => this.#onPooled(pool, read));
  }

  /** Lends a connection, which does not return to the pool after it was lost or discarded. */
  async #onPooled<T>(pool: Pool, act: (client: PoolClient, discard: () => void) => Promise<T>): Promise<T> {
    this.#options.signal?.throwIfAborted();
    const client = await pool.connect();
    let broken = false;
    const discard = () => {
      broken = true;
    };
    // The pool listens only while it has the connection. Without a listener, a loss between two queries ends the
    // process.
    client.on('error', discard);
    try {
      return await act(client, discard);
    } catch (error) {
      broken ||= isPostgresAway(error);
      throw error;
    } finally {
      client.off('error', discard);
      client.release(broken);
    }
  }

  /** Runs `act` in one transaction over all orgs. */
  async transaction<T>(act: (runner: QueryRunner) => Promise<T>): Promise<T> {
    return this.#inTransaction(this.dataSource, 'begin', act);
  }

  /**
   * As `transaction`, for a request of one org. Requests that wait for locks of their org use few connections, so that
   * the queries of others find one.
   * @throws GaplessError `unavailable` if others of the org do not end in time
   */
  async transactionOf<T>(orgId: OrgId, act: (runner: QueryRunner) => Promise<T>): Promise<T> {
    return this.#mainShares.of(orgId, () => this.transaction(act));
  }

  /**
   * Runs `act` in one read-only transaction over all orgs, in which every query sees the same moment. It may take hours
   * between two queries.
   */
  async snapshot<T>(act: (runner: QueryRunner) => Promise<T>): Promise<T> {
    const begin = 'begin isolation level repeatable read read only; set local idle_in_transaction_session_timeout = 0';
    return this.#inTransaction(this.dataSource, begin, act);
  }

  /** Runs `act` in one transaction that sees and changes rows of this org alone, enforced by row-level security. */
  async forOrg<T>(orgId: OrgId, act: (runner: QueryRunner) => Promise<T>): Promise<T> {
    const tenants = await this.#forTenants();
    return this.#shares.of(orgId, () => this.#inTransaction(tenants, this.#asTenant(orgId), act));
  }

  get #pool(): Pool {
    return poolOf(this.dataSource);
  }

  get #sharesLogin(): boolean {
    return this.#options.tenantDatabaseUrl === 'off';
  }

  #asTenant(orgId: OrgId): string {
    return asTenant(orgId, this.#sharesLogin ? 'set local role gapless_tenant; ' : '');
  }

  /** Returns the connections for the queries of requests. Opens them once, and again after a failure. */
  async #forTenants(): Promise<DataSource> {
    if (this.#sharesLogin) return this.dataSource;
    return (this.#tenants ??= this.#openTenants().catch((error: unknown) => {
      this.#tenants = null;
      throw error;
    }));
  }

  async #openTenants(): Promise<DataSource> {
    const { tenantDatabaseUrl, databaseUrl } = this.#options;
    const { url, database } = await this.#onConnection(this.dataSource, async (runner) => ({
      url: tenantDatabaseUrl ?? (await tenantUrl(databaseUrl, runner)),
      database: await runner.getCurrentDatabase(),
    }));
    const settings = { ...this.#settings, ...this.#pooled, url, poolSize: TENANT_POOL_SIZE };
    const tenants = await openAsTenant(settings, database ?? '');
    this.#tenantPool = poolOf(tenants);
    return tenants;
  }

  async #inTransaction<T>(dataSource: DataSource, begin: string, act: (runner: QueryRunner) => Promise<T>): Promise<T> {
    return this.#onConnection(dataSource, async (runner, discard) => {
      try {
        // It has several statements: one that fails leaves a transaction that has begun.
        await runner.query(begin);
        const result = await act(runner);
        await runner.query('commit').catch((error: unknown) => {
          throw commitError(error);
        });
        return result;
      } catch (error) {
        if (!isPostgresAway(error)) await runner.query('rollback').catch(discard);
        throw error;
      }
    });
  }

  /**
   * Lends a connection. After a failure with unknown state, it does not return to the pool. An abandoned statement may
   * still run, and the next user could commit an open transaction.
   */
  async #onConnection<T>(
    dataSource: DataSource,
    act: (runner: QueryRunner, discard: () => void) => Promise<T>,
  ): Promise<T> {
    if (!dataSource.isInitialized) throw new StoreNotOpenError();
    this.#options.signal?.throwIfAborted();
    const runner = dataSource.createQueryRunner();
    let client: Client | undefined;
    const discard = () => {
      // Not awaited, because a frozen server does not answer. The pool does not take back a closing connection.
      client?.end().catch(() => undefined);
    };
    try {
      client = (await runner.connect()) as Client;
      if (this.#generic.delete(client)) await client.query('set plan_cache_mode = auto');
      return await act(runner, discard);
    } catch (error) {
      if (isPostgresAway(error)) discard();
      throw error;
    } finally {
      await runner.release();
    }
  }

  /**
   * Runs `act` while no other process holds the lock. If the machine of the holder is lost, others get it after 60 s.
   * @param act gets a signal that aborts when the lock is lost, since another process may take it then
   * @returns `null` when another process holds it @throws LockLostError if it was lost, once `act` has ended
   */
  async exclusively<T>(lock: number, act: (lost: AbortSignal) => Promise<T>, watch?: LockWatch): Promise<T | null> {
    return this.#exclusively(this.dataSource, lock, act, watch);
  }

  async #exclusively<T>(
    dataSource: DataSource,
    lock: number,
    act: (lost: AbortSignal) => Promise<T>,
    watch?: LockWatch,
  ): Promise<T | null> {
    return this.#onConnection(dataSource, async (runner, discard) =>
      withLock((await runner.connect()) as Client, lock, act, discard, watch),
    );
  }

  /**
   * Migrates the schema. @returns the names of the migrations that ran
   * @throws MigrationUnderWayError if another process does so, and does not end within 2 s
   */
  async migrate(): Promise<readonly string[]> {
    return this.#withMigrations(async (dataSource) => {
      for (const until = performance.now() + MIGRATION_PATIENCE_MS; performance.now() < until;) {
        const migrate = () => this.#runMigrations(dataSource);
        const done = await this.#exclusively(dataSource, ADVISORY_LOCKS.migration, migrate);
        if (done !== null) return done;
        await delay(MIGRATION_LOOK_MS);
      }
      throw new MigrationUnderWayError(databaseName(this.databaseUrl));
    });
  }

  async #runMigrations(dataSource: DataSource): Promise<readonly string[]> {
    const done = await dataSource.runMigrations();
    for (const migration of done) this.#logger.info({ migration: migration.name }, 'postgres.migrated');
    await this.#onConnection(dataSource, (runner) => this.#makeTenantLogin(runner));
    return done.map(({ name }) => name);
  }

  /** Makes the account for requests. If it fails, a process that serves requests reports what to do. */
  async #makeTenantLogin(runner: QueryRunner): Promise<void> {
    const { shadowSchema, tenantDatabaseUrl = null } = this.#options;
    if (shadowSchema !== undefined || tenantDatabaseUrl !== null) return;
    const reason = await makeTenantLogin(runner);
    if (reason !== null) this.#logger.info({ reason }, 'postgres.no_tenant_login');
  }

  /** Returns the names of the missing migrations, in order. */
  async pendingMigrations(): Promise<readonly string[]> {
    return this.#withMigrations(async (dataSource) => {
      const [found] = await dataSource.query<{ is_ready: boolean }[]>(MIGRATIONS_READY_SQL);
      const done =
        found?.is_ready === true ? await dataSource.query<{ name: string }[]>('select name from migrations') : [];
      const names = new Set(done.map(({ name }) => name));
      return MIGRATIONS.map((migration) => new migration().name).filter((name) => !names.has(name));
    });
  }

  async #bringUpToDate(): Promise<void> {
    if (this.#migratesWhenOpened) {
      await this.migrate();
      return;
    }
    const pending = await this.pendingMigrations();
    if (pending.length > 0) throw new SchemaBehindError(databaseName(this.databaseUrl), pending);
  }

  /** Uses own connections without a time limit, because migrations can take long. */
  async #withMigrations<T>(act: (dataSource: DataSource) => Promise<T>): Promise<T> {
    const dataSource = await new DataSource({ ...this.#settings, poolSize: 2 }).initialize();
    try {
      await refuseUnfit(dataSource, databaseName(this.databaseUrl));
      return await act(dataSource);
    } finally {
      await dataSource.destroy();
    }
  }
}
