import { ALERT_STATEMENTS } from './alert-statements.js';
import { ENDPOINT_STATEMENTS } from './endpoint-statements.js';
import { DELIVERY_STATEMENTS } from './delivery-statements.js';
import { FEED_STATEMENTS } from './feed-statements.js';
import { Statement } from './statement.js';
import type { Tables } from './tables.js';

/** Tables that transactions lock together. */
export type Domain = 'feed' | 'deliveries' | 'alerts' | 'endpoints';

/** What a statement of the stages does to the tables. */
export interface Meaning {
  readonly name: string;
  readonly domain: Domain | null;
  /** Others see what it writes in a transaction once that is committed; otherwise, all who could see it wait. */
  readonly isSeenWhenCommitted?: true;
  /** What no other statement holds. */
  readonly sign: RegExp;
  readonly act: (tables: Tables, statement: Statement, parameters: readonly unknown[]) => unknown[];
}

interface KnownStatement {
  readonly name: string;
  readonly domain: Domain | null;
  readonly isSeenWhenCommitted: boolean;
  readonly act: (tables: Tables, parameters: readonly unknown[]) => unknown[];
}

/** Locks and settings that mean nothing here. */
const WITHOUT_MEANING: Meaning = {
  name: 'setting',
  domain: null,
  sign: /^\s*(set local|select pg_advisory_xact_lock|select gapless_make_day)/,
  act: () => [],
};

const MEANINGS: readonly Meaning[] = [
  WITHOUT_MEANING,
  ...FEED_STATEMENTS,
  ...DELIVERY_STATEMENTS,
  ...ENDPOINT_STATEMENTS,
  ...ALERT_STATEMENTS,
];

const known = new Map<string, KnownStatement>();

/** @throws for a statement that is new to the simulation: add it to `MEANINGS` */
export function meaningOf(sql: string): KnownStatement {
  let found = known.get(sql);
  if (found === undefined) {
    const meaning = MEANINGS.find(({ sign }) => sign.test(sql));
    if (meaning === undefined) throw new Error(`the simulated Postgres does not know this statement: ${sql}`);
    const statement = new Statement(sql);
    const { name, domain, isSeenWhenCommitted = false, act } = meaning;
    found = { name, domain, isSeenWhenCommitted, act: (tables, parameters) => act(tables, statement, parameters) };
    known.set(sql, found);
  }
  return found;
}
