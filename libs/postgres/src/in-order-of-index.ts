/**
 * Run it before queries that begin in the order of an index and stop at a limit, in the same transaction. Otherwise a plan
 * that expects few rows may take another index, and sort all of them: statistics can be older than most rows.
 */
export const IN_ORDER_OF_INDEX = 'set local enable_sort = off; set local enable_incremental_sort = off';
