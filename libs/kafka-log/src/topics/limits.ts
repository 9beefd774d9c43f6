/** The broker refuses a batch above this; one event of the largest size, its envelope and headers fit many times. */
export const LARGEST_BATCH_BYTES = 8 * 1024 * 1024;

/** A record alone in its batch; the rest is room for what its size is estimated without. */
export const LARGEST_RECORD_BYTES = LARGEST_BATCH_BYTES - 64 * 1024;

/**
 * A produce request holds no more, over all of its partitions. It is less than what a broker takes for one partition,
 * since sizes are estimated, and more than one ingest request, which is so appended as a whole.
 */
export const REQUEST_BYTES = 6 * 1024 * 1024;

/** The size up to which a produce request is filled: large enough to amortise the round trip, small enough to be fast. */
export const PRODUCE_BYTES = 1024 * 1024;

/** Records per produce request, whatever their size: bounds the time that encoding takes from everything else. */
export const PRODUCE_RECORDS = 1_000;
