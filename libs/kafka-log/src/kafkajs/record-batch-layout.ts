/** Where the fields of a batch of records begin, in bytes from its start: magic 2, as Kafka's protocol lays it down. */
export const BATCH = {
  baseOffset: 0,
  /** Of what follows it. */
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

/** What stands in front of its length, and the length: they are not counted in it. */
export const UNCOUNTED_BYTES = BATCH.leaderEpoch;

export const INT16 = 2;
export const INT32 = 4;
export const INT64 = 8;
