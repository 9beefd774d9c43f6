/** The broker refuses a batch above this; one event of the largest size, its envelope and headers fit many times. */
export const LARGEST_BATCH_BYTES = 8 * 1024 * 1024;

/** What one produce request is filled up to: large enough to amortise the round trip, small enough to be quick. */
export const PRODUCE_BYTES = 1024 * 1024;

/** Records per produce request, whatever their size: bounds the time that encoding takes from everything else. */
export const PRODUCE_RECORDS = 1_000;
