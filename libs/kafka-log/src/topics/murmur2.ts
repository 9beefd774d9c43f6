const SEED = 0x9747b28c;
const M = 0x5bd1e995;
const R = 24;

/** The hash by which Kafka's Java client and kafkajs place keys. */
export function murmur2(key: Buffer): number {
  const { length } = key;
  const tail = length & ~3;
  let hash = SEED ^ length;
  for (let at = 0; at < tail; at += 4) {
    let word = Math.imul(key.readInt32LE(at), M);
    word = Math.imul(word ^ (word >>> R), M);
    hash = Math.imul(hash, M) ^ word;
  }
  if (tail < length) {
    let rest = 0;
    for (let at = length - 1; at >= tail; at--) rest = (rest << 8) | (key[at] ?? 0);
    hash = Math.imul(hash ^ rest, M);
  }
  hash = Math.imul(hash ^ (hash >>> 13), M);
  return hash ^ (hash >>> 15);
}
