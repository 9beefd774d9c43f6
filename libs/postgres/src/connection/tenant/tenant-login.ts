import { randomBytes } from 'node:crypto';
import { types } from 'node:util';
import { DataSource, type QueryRunner } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { OperatorError } from '#libs/domain';
import { sharesConnections, USE_SESSION_MODE } from '../opening/refuse-unfit.js';
import { SQL_STATES, sqlStateOf } from '../sql-states.js';

/** The account for the queries of requests cannot be used, or has too many rights. */
export class TenantLoginError extends OperatorError {
  override readonly name = 'TenantLoginError';
}

const WAYS_OUT =
  'Set TENANT_DATABASE_URL to an account that is in the role gapless_tenant alone, or to off, as SECURITY.md says';

interface LoginRow {
  readonly name: string;
  readonly password: string;
}

/**
 * Makes the account unless it exists. A copy of the database on another server gets it under the same name.
 * @returns why there is no account; `null` when there is one
 */
export async function makeTenantLogin(runner: QueryRunner): Promise<string | null> {
  await runner.query('begin');
  try {
    const there = (await runner.query(
      'select 1 from tenant_login join pg_roles on rolname = name',
    )) as readonly unknown[];
    if (there.length > 0) {
      await runner.query('commit');
      return null;
    }
    await runner.query(
      `insert into tenant_login (name, password) values ($1, $2) on conflict on constraint tenant_login_pkey do nothing`,
      [`gapless_requests_${randomBytes(6).toString('hex')}`, randomBytes(24).toString('hex')],
    );
    await runner.query(`
      do $$
      declare login tenant_login%rowtype;
      begin
        select * into login from tenant_login;
        if not exists (select from pg_roles where rolname = login.name) then
          execute format('create role %I login password %L in role gapless_tenant', login.name, login.password);
        end if;
      end $$;
    `);
    await runner.query('commit');
    return null;
  } catch (error) {
    await runner.query('rollback');
    if (!isDenied(error)) throw error;
    return error.message;
  }
}

/**
 * Returns the database's address with the account for the queries of requests.
 * @throws TenantLoginError when that account was not made
 */
export async function tenantUrl(databaseUrl: string, runner: QueryRunner): Promise<string> {
  const [login] = (await runner.query('select name, password from tenant_login')) as LoginRow[];
  if (login === undefined) {
    throw new TenantLoginError(
      `the account that migrates may not create accounts, so requests have none. ${WAYS_OUT}.`,
    );
  }
  const url = new URL(databaseUrl);
  // As parameters, because the address of a Unix socket has no place for them. They take precedence over the address.
  url.searchParams.set('user', login.name);
  url.searchParams.set('password', login.password);
  return url.href;
}

/**
 * Connects as the account for requests. Checks that it has no other rights, and that no pooler shares its connections.
 * @throws TenantLoginError when it cannot log in, could see rows of all organizations, or is behind such a pooler
 */
export async function openAsTenant(settings: PostgresDataSourceOptions, database: string): Promise<DataSource> {
  const dataSource = new DataSource(settings);
  try {
    await dataSource.initialize();
  } catch (error) {
    if (!isDenied(error)) throw error;
    throw new TenantLoginError(`the account for requests cannot log in: ${error.message}. ${WAYS_OUT}.`, {
      cause: error,
    });
  }
  try {
    const problem = await problemOf(dataSource, database);
    if (problem !== null) throw new TenantLoginError(`the account for requests ${problem}.`);
    return dataSource;
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
}

/** Returns what is wrong with the account and what to do; `null` if nothing is. */
async function problemOf(dataSource: DataSource, database: string): Promise<string | null> {
  if (await sharesConnections(dataSource)) {
    return `is behind a pooler that shares connections between statements, so settings would get lost. ${USE_SESSION_MODE}`;
  }
  const wrong = await wrongRights(dataSource, database);
  return wrong === null ? null : `${wrong}. ${WAYS_OUT}`;
}

async function wrongRights(dataSource: DataSource, database: string): Promise<string | null> {
  const [found] = await dataSource.query<
    { database: string; is_tenant: boolean; name: string; more: string | null }[]
  >(`
    select current_database() as database, session_user as name,
      pg_has_role(session_user, 'gapless_tenant', 'usage') as is_tenant,
      (select string_agg(rolname, ', ' order by rolname) from pg_roles
       where pg_has_role(session_user, oid, 'member')
         and (rolsuper or rolbypassrls or rolname = 'gapless_writer'
              or oid = (select relowner from pg_class where oid = to_regclass('endpoints')))) as more
  `);
  if (found === undefined) return 'gets no answer';
  const { name } = found;
  if (found.database !== database) return `${name} is of the database ${found.database}, and not of ${database}`;
  if (!found.is_tenant) return `${name} is not in the role gapless_tenant`;
  return found.more === null ? null : `${name} may become ${found.more}, and see rows of all organizations`;
}

/** Whether the account was refused, or lacks a right. */
function isDenied(error: unknown): error is Error {
  if (!types.isNativeError(error)) return false;
  const state = sqlStateOf(error);
  return /^28...$/.test(state) || state === SQL_STATES.insufficientPrivilege;
}
