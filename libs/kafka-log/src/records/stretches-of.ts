import { recordBytes, type NewRecord } from './record.js';

/** The limits of a stretch. A record above the limit is a stretch of its own. */
export interface StretchLimits {
  readonly bytes: number;
  readonly records?: number;
}

/** Cuts records, in order, into stretches that fit into a produce request. */
export function* stretchesOf<Of extends Omit<NewRecord, 'topic'>>(
  records: readonly Of[],
  limits: StretchLimits,
): Generator<readonly Of[]> {
  const { bytes: mostBytes, records: mostRecords = Infinity } = limits;
  let from = 0;
  let bytes = 0;
  for (const [at, record] of records.entries()) {
    const weight = recordBytes(record);
    if (at > from && (bytes + weight > mostBytes || at - from >= mostRecords)) {
      yield records.slice(from, at);
      from = at;
      bytes = 0;
    }
    bytes += weight;
  }
  if (from < records.length) yield records.slice(from);
}
