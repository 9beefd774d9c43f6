/**
 * The largest batch that the broker accepts, bytes. An event of the largest size, with envelope and headers, fits many
 * times.
 */
export const LARGEST_BATCH_BYTES = 8 * 1024 * 1024;

/** The largest record, alone in its batch. The rest is room for parts that the estimated size leaves out. */
export const LARGEST_RECORD_BYTES = LARGEST_BATCH_BYTES - 64 * 1024;

/**
 * The largest produce request over all partitions, bytes. It is below the broker's limit for one partition, because
 * sizes are estimated. It is above an ingest request, so that each of these is appended as a whole.
 */
export const REQUEST_BYTES = 6 * 1024 * 1024;

/**
 * The size up to which a produce request is filled, bytes: large enough to save round trips, small enough to be fast.
 */
export const PRODUCE_BYTES = 1024 * 1024;

/** The most records in a produce request of any size. This limits the time that encoding blocks the process. */
export const PRODUCE_RECORDS = 1_000;
