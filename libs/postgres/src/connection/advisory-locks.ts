/**
 * The advisory locks that Gapless takes in its database. They only have to differ from each other, and from those of
 * another program in the same database. Old and new versions run side by side during an upgrade, so a number stays.
 */
export const ADVISORY_LOCKS = {
  /** Taken while migrating, so that processes that start together migrate once. */
  migration: 47_110_815,
  /** Taken while a partition is made, so that two projectors do not make the same one; a shadow's are made besides. */
  dayPartitions: 47_110_816,
  /** Held while a shadow exists. */
  shadow: 47_110_817,
  /** Held by the one process that works on backlogs. */
  backlogs: 47_110_818,
} as const;
