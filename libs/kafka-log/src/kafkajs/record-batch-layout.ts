/** Where the fields of a batch of records begin, in bytes from its start: magic 2, as Kafka's protocol lays it down. */
export const BATCH = {
  baseOffset: 0,
  /** The length of everything after it. */
  length: 8,
  leaderEpoch: 12,
  magic: 16,
  checksum: 17,
  /** The checksum counts from here on. */
  attributes: 21,
  lastOffsetDelta: 23,
  firstTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  recordCount: 57,
  records: 61,
} as const;

export const MAGIC = 2;

/** The bytes before the length, and the length itself. The length does not count them. */
export const UNCOUNTED_BYTES = BATCH.leaderEpoch;

export const INT16 = 2;
export const INT32 = 4;
export const INT64 = 8;
