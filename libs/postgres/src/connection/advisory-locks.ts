import type { QueryRunner } from 'typeorm';

/**
 * The advisory locks that Gapless takes in its database, except those that `lockFor` takes. Their numbers must differ
 * from each other and from those of other programs in the database. Never change a number: old and new versions run side
 * by side during an upgrade.
 */
export const ADVISORY_LOCKS = {
  /** Taken while migrating, so that processes that start together migrate once. */
  migration: 47_110_815,
  /** Taken while a partition is made, so that two projectors do not make the same one. Each schema has its own lock. */
  dayPartitions: 47_110_816,
  /** Held while a shadow exists. */
  shadow: 47_110_817,
  /** Held by the process that works on backlogs. */
  backlogs: 47_110_818,
  /** Held by the process that keeps subscriptions of agents in order. */
  mcpUpkeep: 47_110_819,
  /** Held by the process that publishes operational events, so that they keep their order. */
  operationalEvents: 47_110_820,
  /**
   * Held while the feed moves, in the main database and in those that it moves to. In the main one also by the other
   * commands that replace what the databases hold: rebuild and repair.
   */
  feedMove: 47_110_821,
} as const;

/** What requests take turns to create, as the names of their locks have it. Never change one, for the same reason. */
const CREATIONS = {
  /** The API keys of an org. */
  apiKeys: 'api keys',
  /** The endpoints of an org, those of agents included. */
  endpoints: 'endpoints',
  /** The feed cursors of an org. */
  feedCursors: 'feed cursors',
  liveChatSettings: 'live-chat settings',
  /** The recoveries of an endpoint. */
  recoveries: 'recoveries',
} as const;

/**
 * Takes a turn among the requests that create something of the org or endpoint, until the transaction ends. The deletion
 * of an org takes those of the org, too. Without an id, it takes none.
 */
export async function lockFor(runner: QueryRunner, what: keyof typeof CREATIONS, id: string | null): Promise<void> {
  await runner.query(`select pg_advisory_xact_lock(hashtextextended('${CREATIONS[what]} of ' || $1, 0))`, [id]);
}
