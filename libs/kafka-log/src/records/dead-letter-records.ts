import { ERROR_CODES, type ErrorCode } from '#libs/domain';
import type { NewRecord, RecordHeaders, StoredRecord } from './record.js';

/** Why a record became a dead letter. */
export type DeadLetterCode = ErrorCode | 'wrong_partition' | 'unreadable' | 'not_a_log_record';
export const DEAD_LETTER_CODES: readonly DeadLetterCode[] = [
  ...ERROR_CODES,
  'wrong_partition',
  'unreadable',
  'not_a_log_record',
];

/** The most bytes of a record's parts in a dead letter, several times the largest event. */
const MOST_KEY_BYTES = 4 * 1024;
const MOST_VALUE_BYTES = 1024 * 1024;
const MOST_HEADER_BYTES = 64 * 1024;
const MOST_DETAIL_CHARACTERS = 4 * 1024;

/**
 * Returns the dead letter of an invalid record: the record as it came, with the reason and where it was (contract 10).
 * Parts that are too large are cut, and `x-cut` says how large they were.
 */
export function deadLetterRecord(topic: string, record: StoredRecord, code: DeadLetterCode, detail: string): NewRecord {
  const { key, value, unreadable } = record;
  const { headers, dropped } = cutHeaders(record.headers);
  const cuts = [
    ...cutOf('key', key, MOST_KEY_BYTES),
    ...cutOf('value', value, MOST_VALUE_BYTES),
    ...(dropped === 0 ? [] : [`${dropped} headers`]),
  ];
  return {
    topic,
    key: key?.subarray(0, MOST_KEY_BYTES) ?? null,
    value: value?.subarray(0, MOST_VALUE_BYTES) ?? null,
    headers: {
      ...headers,
      'x-error-code': code,
      'x-error-detail': detail.slice(0, MOST_DETAIL_CHARACTERS),
      'x-origin': `${record.topic}/${record.partition}/${unreadable?.firstOffset ?? record.offset}`,
      ...(cuts.length === 0 ? {} : { 'x-cut': cuts.join(', ') }),
    },
  };
}

/** Makes the dead letter of an unreadable batch, with its bytes as the broker stores them. */
export function unreadableBatchRecord(
  topic: string,
  record: StoredRecord,
  { reason, firstOffset }: NonNullable<StoredRecord['unreadable']>,
): NewRecord {
  const detail = `The batch with the offsets ${firstOffset} to ${record.offset} cannot be read: ${reason}.`;
  return deadLetterRecord(topic, record, 'unreadable', detail);
}

function cutOf(part: string, bytes: Buffer | null, most: number): readonly string[] {
  return bytes === null || bytes.length <= most ? [] : [`${part} of ${bytes.length} bytes`];
}

/** Returns as many of the first headers as fit. */
function cutHeaders(all: RecordHeaders): { readonly headers: RecordHeaders; readonly dropped: number } {
  const headers: Record<string, string> = {};
  let bytes = 0;
  let dropped = 0;
  for (const [name, value] of Object.entries(all)) {
    const weight = Buffer.byteLength(name) + Buffer.byteLength(value);
    if (bytes + weight > MOST_HEADER_BYTES) dropped++;
    else {
      headers[name] = value;
      bytes += weight;
    }
  }
  return { headers, dropped };
}
