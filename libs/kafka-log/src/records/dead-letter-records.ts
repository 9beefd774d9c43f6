import { ERROR_CODES, type ErrorCode } from '#libs/domain';
import type { NewRecord, StoredRecord } from '../record.js';

/** Why a record was set aside. */
export type DeadLetterCode = ErrorCode | 'wrong_partition';
export const DEAD_LETTER_CODES: readonly DeadLetterCode[] = [...ERROR_CODES, 'wrong_partition'];

/** A record that cannot be taken: as it came, with the reason and where it was (contract 10). */
export function deadLetterRecord(topic: string, record: StoredRecord, code: DeadLetterCode, detail: string): NewRecord {
  return {
    topic,
    key: record.key,
    value: record.value,
    headers: {
      ...record.headers,
      'x-error-code': code,
      'x-error-detail': detail,
      'x-origin': `${record.topic}/${record.partition}/${record.offset}`,
    },
  };
}
