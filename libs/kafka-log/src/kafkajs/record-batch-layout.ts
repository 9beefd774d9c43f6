/** The byte offsets of the fields in a batch of records of magic 2, as defined by Kafka's protocol. */
export const BATCH = {
  baseOffset: 0,
  /** The length of all bytes after this field. */
  length: 8,
  leaderEpoch: 12,
  magic: 16,
  checksum: 17,
  /** The checksum covers all bytes from here on. */
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

/** The bytes that the length field does not count: those before it, and itself. */
export const UNCOUNTED_BYTES = BATCH.leaderEpoch;

export const INT16 = 2;
export const INT32 = 4;
export const INT64 = 8;
